"""torchvision's ResNet-50 in channels_last: python3 resnet.py [--steps N]."""

import argparse

import names
import torch
import torchvision

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = torchvision.models.resnet50(num_classes=10).cuda().to(memory_format=torch.channels_last)
    names.put_around(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images = torch.randn(4, 3, 64, 64).cuda().to(memory_format=torch.channels_last)
    classes = torch.randint(10, (4,)).cuda()
    for _ in range(steps):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print(f"loss {float(loss):.3f}")
