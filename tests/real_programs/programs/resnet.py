"""torchvision's ResNet-50, or another model, in channels_last: python3 resnet.py [--model NAME] [--steps N]."""

import argparse

import names
import steps as loop
import torch
import torchvision

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--model", default="resnet50", help="of torchvision")
    parser.add_argument("--images", type=int, default=4, help="in a batch")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = torchvision.models.get_model(arguments.model, num_classes=10).cuda().to(memory_format=torch.channels_last)
    names.put_around(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images = torch.randn(arguments.images, 3, 64, 64).cuda().to(memory_format=torch.channels_last)
    classes = torch.randint(10, (arguments.images,)).cuda()
    for _ in range(arguments.steps):
        loop.begins()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print(f"loss {float(loss):.3f}")
