// Shows the histories whose data are in this page (prof-analyze history --format json).
(function () {

const kNames = 190;      // pixels left of a map
const kAxis = 34;        // above it: flags of changes, and times
const kMostRows = 280;   // more ranks than this share rows, which show the one that differs most
const kMostLayers = 48;
const kDay = 86400;
const kThrottles = 0x04 | 0x08 | 0x20 | 0x40 | 0x80;  // NVML's reasons that nobody asked for
const kReadings = [['sm_clock_mhz', 'SM clock, MHz'], ['power_w', 'power, W'], ['temperature_c', 'temperature, °C']];

const data = JSON.parse(byId('history-data').textContent);
const columns = data.columns;
const count = columns.start_s.length;
// A bin ends with its last sample; it is drawn up to the next one unless nobody measured in between.
const ends = columns.end_s.map((end, i) => {
  const next = i + 1 < count ? columns.start_s[i + 1] : Math.max(end, data.until_s);
  return next - end <= Math.max(300, 2 * (end - columns.start_s[i])) ? next : end;
});
const whole = count > 0 ? [columns.start_s[0], Math.max(ends[count - 1], columns.start_s[0] + 60)] : [0, 1];
let shown = whole;
let chosen = null;  // a change

function median(values) {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  return sorted.length > 0 ? sorted[Math.floor(sorted.length / 2)] : null;
}

// The median over time: the newest minutes have as many columns as the oldest weeks.
function medianOverTime(values) {
  const known = values.map((value, i) => [value, ends[i] - columns.start_s[i]]).filter(([value]) => value !== null)
      .sort((a, b) => a[0] - b[0]);
  let left = known.reduce((sum, [, length]) => sum + length, 0) / 2;
  for (const [value, length] of known) {
    left -= length;
    if (left <= 0) return value;
  }
  return null;
}

function relativeTo(series, base) {
  return series.map((value, i) => {
    const own = Array.isArray(base) ? base[i] : base;
    return value === null || !own ? null : value / own;
  });
}

const peers = (series) => columns.start_s.map((_, i) => median(series.map((values) => values[i])));

function when(seconds) {
  return new Date(1000 * seconds).toISOString().slice(0, 16).replace('T', ' ');
}

// ---- time --------------------------------------------------------------------------------------

function ticks([from, to], width) {
  const steps = [60, 300, 900, 3600, 10800, 21600, 43200, kDay, 2 * kDay, 7 * kDay, 14 * kDay, 28 * kDay, 91 * kDay];
  const step = steps.find((one) => (to - from) / one * 75 <= width) || 365 * kDay;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    found.push([at, at % kDay === 0 ? when(at).slice(0, 10) : when(at).slice(11)]);
  }
  return found;
}

class Chart {
  constructor(id) {
    this.canvas = byId(id);
    this.pen = this.canvas.getContext('2d');
  }

  // Makes the canvas `height` pixels high and empty.
  begin(height) {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = height;
    this.canvas.style.height = height + 'px';
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.pen.clearRect(0, 0, this.width, height);
    this.pen.font = '11px system-ui, "DejaVu Sans", Arial, sans-serif';
  }

  x(seconds) {
    return kNames + (this.width - kNames) * (seconds - shown[0]) / (shown[1] - shown[0]);
  }

  words(text, x, y, align, ink) {
    this.pen.fillStyle = color(ink || 'quiet');
    this.pen.textAlign = align;
    this.pen.fillText(text, x, y);
  }

  name(text, y) {
    let shortened = text;
    for (let keep = text.length; this.pen.measureText(shortened).width > kNames - 12; --keep) {
      shortened = text.slice(0, keep / 2) + '…' + text.slice(text.length - keep / 2);
    }
    this.words(shortened, kNames - 6, y, 'right', 'text');
  }

  inside(draw) {
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(kNames, 0, this.width - kNames, this.height);
    this.pen.clip();
    draw();
    this.pen.restore();
  }

  axis() {
    for (const [at, words] of ticks(shown, this.width - kNames)) {
      this.pen.fillStyle = color('line');
      this.pen.fillRect(this.x(at), kAxis - 4, 1, 4);
      if (this.x(at) < this.width - 30) this.words(words, this.x(at) + 2, kAxis - 6, 'left');
    }
  }

  // Flags of changes; `touches(change)` gives the top and the height of what each one changed.
  flags(touches) {
    data.changes.forEach((change, i) => {
      const x = this.x(change.began_s);
      this.pen.globalAlpha = chosen === null || chosen === i ? 1 : 0.35;
      this.pen.fillStyle = color('text');
      for (let y = kAxis; y < this.height; y += 6) this.pen.fillRect(x, y, 1, 2);
      for (const [top, height] of touches(change)) this.pen.fillRect(x - 1, top, 3, height);
      this.pen.fillRect(x - 8, 2, 16, 14);
      this.words(String(i + 1), x, 13, 'center', 'ground');
      this.pen.globalAlpha = 1;
    });
  }
}

// ---- heat maps ---------------------------------------------------------------------------------

// The largest difference that has a colour of its own, as a logarithm.
let kLimit = Math.log(1.05);

function channels(name) {
  return color(name).match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16));
}

function heat(ratio) {
  const part = Math.min(1, Math.abs(Math.log(ratio)) / kLimit) ** 0.7;  // small differences show, too
  const from = channels('panel');
  const to = channels(ratio > 1 ? 'slower' : 'accent');
  return 'rgb(' + from.map((value, i) => Math.round(value + part * (to[i] - value))).join(',') + ')';
}

class HeatMap extends Chart {
  // `row(i)` gives {name, values, of}: ratios, the numbers of the ranks or layers that it stands for,
  // and `say(column)`, its words.
  constructor(id, touched) {
    super(id);
    this.touched = touched;
    this.cursor = null;
    const move = (event) => {
      const box = this.canvas.getBoundingClientRect();
      this.point(event.clientX - box.left, event.clientY - box.top);
    };
    this.canvas.addEventListener('mousemove', move);
    this.canvas.addEventListener('click', move);
    this.canvas.addEventListener('keydown', (event) => {
      const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
      if (!step || count === 0) return;
      event.preventDefault();
      const [row, column] = this.cursor || [0, count - 1];
      this.cursor = [Math.max(0, Math.min(this.rows.length - 1, row + step[0])), Math.max(0, Math.min(count - 1, column + step[1]))];
      this.draw();
      this.say();
    });
  }

  show(rows) {
    this.rows = rows;
    this.cursor = null;
    this.size = Math.max(2, Math.min(18, Math.floor(600 / Math.max(1, rows.length))));
    byId(this.canvas.id + '-details').textContent = 'Point at the map, or use the arrow keys, to see numbers.';
    this.draw();
  }

  point(x, y) {
    const seconds = shown[0] + (x - kNames) / (this.width - kNames) * (shown[1] - shown[0]);
    const column = columns.start_s.findIndex((start, i) => start <= seconds && seconds < ends[i]);
    const row = Math.floor((y - kAxis) / this.size);
    if (column < 0 || row < 0 || row >= this.rows.length) return;
    this.cursor = [row, column];
    this.draw();
    this.say();
  }

  say() {
    const [row, column] = this.cursor;
    const {title, words} = this.rows[row].say(column);
    byId(this.canvas.id + '-details').replaceChildren(element('b', {}, title), ': ' + when(columns.start_s[column]) + ' to ' +
        when(ends[column]) + ', iterations ' + columns.first_iteration[column].toLocaleString('en') + ' to ' +
        columns.last_iteration[column].toLocaleString('en') + ': ' + words);
  }

  draw() {
    this.begin(kAxis + this.size * this.rows.length + 2);
    const every = Math.ceil(12 / this.size);  // rows that have room for a name
    this.rows.forEach((row, i) => {
      if (i % every === 0) this.name(row.name, kAxis + (i + 0.5) * this.size + (this.size > 4 ? 4 : 6));
    });
    this.inside(() => {
      const gap = this.size > 6 ? 1 : 0;
      this.rows.forEach((row, i) => {
        for (let k = 0; k < count; ++k) {
          if (row.values[k] === null) continue;
          const x = this.x(columns.start_s[k]);
          this.pen.fillStyle = heat(row.values[k]);
          this.pen.fillRect(x, kAxis + i * this.size, Math.max(1, this.x(ends[k]) - x), this.size - gap);
        }
      });
      this.axis();
      this.flags((change) => this.rows.flatMap((row, i) => row.of.some((one) => this.touched(change, one)) ?
        [[kAxis + i * this.size, this.size]] : []));
      if (this.cursor) {
        const [row, k] = this.cursor;
        this.pen.strokeStyle = color('text');
        this.pen.strokeRect(this.x(columns.start_s[k]), kAxis + row * this.size, this.x(ends[k]) - this.x(columns.start_s[k]), this.size);
      }
    });
  }
}

function rankRows(series) {
  const of = (rank) => series.endsWith('iteration') ? rank.iteration_us : rank.own_us;
  const all = data.ranks.map(of);
  // Ranks of one list of events are peers: the stages of a pipeline differ.
  const base = series.startsWith('past') ? null : new Map(data.ranks.map(({event_list: list}) =>
    [list, peers(all.filter((_, i) => data.ranks[i].event_list === list))]));
  const ratios = all.map((values, i) =>
    relativeTo(values, base === null ? medianOverTime(values) : base.get(data.ranks[i].event_list)));
  const group = Math.ceil(data.ranks.length / kMostRows);
  const rows = [];
  for (let first = 0; first < data.ranks.length; first += group) {
    const members = data.ranks.slice(first, first + group).map((_, i) => first + i);
    const farthest = columns.start_s.map((_, k) => members.reduce((best, one) =>
      ratios[one][k] !== null && (ratios[best][k] === null ||
      Math.abs(Math.log(ratios[one][k])) > Math.abs(Math.log(ratios[best][k]))) ? one : best, first));
    rows.push({
      name: data.ranks[first].name + (data.ranks.length > 1 && first % 8 === 0 ? ', ' + data.ranks[first].host : ''),
      of: members,
      values: farthest.map((one, k) => ratios[one][k]),
      say: (k) => {
        const {name, host} = data.ranks[farthest[k]];
        const us = all[farthest[k]][k];
        return {title: name + ', ' + host, words: us === null ? 'not measured' : microseconds(us) + ' us, ' +
            ratios[farthest[k]][k].toFixed(3) + (base === null ? ' times its median' : ' times its peers')};
      }});
  }
  return rows;
}

function layerRows() {
  return data.layers.slice(0, kMostLayers).map(({layer, us}) => {
    const values = relativeTo(us, medianOverTime(us));
    return {name: layer || '(no layer)', of: [layer], values, say: (k) => ({title: layer || '(no layer)',
      words: us[k] === null ? 'not measured' : microseconds(us[k]) + ' us, ' + values[k].toFixed(3) + ' times its median'})};
  });
}

// ---- machine -----------------------------------------------------------------------------------

class Machine extends Chart {
  draw() {
    const rank = data.ranks[byId('machine-rank').value];
    const lines = kReadings.filter(([key]) => data.ranks.some(({machine}) => machine[key]));
    const height = 72;
    this.begin(kAxis + height * lines.length + 12);
    lines.forEach(([key, title], i) => {
      const top = kAxis + i * height + 8;
      const own = rank.machine[key] || [];
      const all = peers(data.ranks.map(({machine}) => machine[key] || []).filter((values) => values.length > 0));
      const known = own.concat(all).filter((value) => value !== null);
      const least = Math.min(...known), most = Math.max(...known);
      const y = (value) => top + (height - 18) * (1 - (most > least ? (value - least) / (most - least) : 0.5));
      this.name(title, top + 22);
      this.words(Math.round(most), kNames - 6, top + 6, 'right');
      this.words(Math.round(least), kNames - 6, top + height - 12, 'right');
      this.inside(() => {
        for (const [values, ink, width] of [[all, 'unknown', 1], [own, 'accent', 2]]) {
          this.pen.beginPath();
          let isOpen = false;
          for (let k = 0; k < count; ++k) {
            if (values[k] === null || values[k] === undefined) { isOpen = false; continue; }
            if (!isOpen) this.pen.moveTo(this.x(columns.start_s[k]), y(values[k]));
            this.pen.lineTo(this.x(columns.start_s[k]), y(values[k]));
            this.pen.lineTo(this.x(ends[k]), y(values[k]));
            isOpen = true;
          }
          this.pen.strokeStyle = color(ink);
          this.pen.lineWidth = width;
          this.pen.stroke();
        }
      });
    });
    this.inside(() => {
      this.axis();
      this.flags(() => []);
      const reasons = rank.machine.throttle_reasons || [];
      this.pen.fillStyle = color('slower');
      reasons.forEach((mask, k) => {
        if (mask & kThrottles) this.pen.fillRect(this.x(columns.start_s[k]), this.height - 6, this.x(ends[k]) - this.x(columns.start_s[k]), 5);
      });
    });
  }
}

// ---- page --------------------------------------------------------------------------------------

const ranks = new HeatMap('ranks', (change, rank) => change.ranks.includes(rank));
const layers = new HeatMap('layers',
  // The map shows the median of the ranks.
  (change, layer) => change.layers.includes(layer) && 2 * change.ranks.length >= data.ranks.length);
const machine = new Machine('machine');

function redraw() {
  for (const chart of [ranks, layers, machine]) chart.draw();
}

// Chooses the colours' limit: what all but the farthest hundredth of the cells stay within.
function setLimit() {
  const far = ranks.rows.concat(layers.rows).flatMap(({values}) => values).filter((value) => value !== null)
      .map((value) => Math.abs(Math.log(value))).sort((a, b) => a - b);
  const limit = far.length > 0 ? far[Math.floor(0.995 * (far.length - 1))] : 0;
  kLimit = Math.max(Math.log(1.05), Math.min(Math.log(1.5), limit));
  const scale = element('span', {class: 'scale'});
  const stops = [-1, -0.5, 0, 0.5, 1].map((part) => heat(Math.exp(part * kLimit)));
  scale.style.background = 'linear-gradient(to right, ' + stops.join(', ') + ')';
  byId('legend').replaceChildren('faster, ' + Math.exp(-kLimit).toFixed(2) + ' times ', scale,
                                 ' ' + Math.exp(kLimit).toFixed(2) + ' times, slower');
}

function showRanks() {
  ranks.show(rankRows(byId('ranks-series').value));
  setLimit();
  redraw();
}

function showWindows() {
  const all = [['all', Infinity], ['30 days', 30 * kDay], ['7 days', 7 * kDay], ['day', kDay], ['6 hours', kDay / 4], ['hour', 3600]];
  for (const [name, length] of all.filter(([, length]) => length === Infinity || length < 0.7 * (whole[1] - whole[0]))) {
    const own = button(name === 'all' ? 'All' : 'Last ' + name, () => {
      for (const other of byId('windows').children) other.setAttribute('aria-pressed', String(other === own));
      shown = length === Infinity ? whole : [whole[1] - length, whole[1]];
      redraw();
    }, {'aria-pressed': String(length === Infinity)});
    byId('windows').append(own, ' ');
  }
}

function showChanges() {
  if (data.changes.length === 0) byId('changes').append(element('li', {}, 'No layer, event or iteration changed.'));
  data.changes.forEach((change, i) => {
    const button = element('button', {type: 'button', 'aria-pressed': 'false'},
                           element('span', {class: 'flag'}, String(i + 1)), change.text);
    button.addEventListener('click', () => {
      chosen = chosen === i ? null : i;
      for (const other of byId('changes').querySelectorAll('button')) {
        other.setAttribute('aria-pressed', String(chosen !== null && other === button));
      }
      if (change.ranks.length > 0) byId('machine-rank').value = change.ranks[0];
      redraw();
    });
    byId('changes').append(element('li', {}, button));
  });
}

byId('source').textContent = data.watched;
for (const {cause, what, evidence} of data.recurrences) {
  byId('recurrences').append(element('li', {}, element('b', {}, cause + ': '), what,
                                     element('ul', {}, ...evidence.map((words) => element('li', {}, words)))));
}
if (data.recurrences.length === 0) {
  byId('recurrences').append(element('li', {class: 'good'}, 'Nothing recurs: no rank and no time is slower than the others.'));
}
data.ranks.forEach(({name, host}, i) => byId('machine-rank').append(element('option', {value: i}, name + ', ' + host)));
const notable = data.recurrences.concat(data.changes).find((one) => one.ranks.length > 0);
if (notable) byId('machine-rank').value = notable.ranks[0];
byId('machine-section').hidden = !data.ranks.some((rank) => kReadings.some(([key]) => rank.machine[key]));
byId('layers-hint').textContent = 'Each relative to its own median over time; the median of the ranks' +
    (data.layers.length > kMostLayers ? '; the ' + kMostLayers + ' largest of ' + data.layers.length : '') + '.';
byId('report').hidden = false;
layers.rows = layerRows();
layers.show(layers.rows);
showWindows();
showChanges();
showRanks();
byId('ranks-series').addEventListener('change', showRanks);
byId('machine-rank').addEventListener('change', () => machine.draw());
window.addEventListener('resize', redraw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
})();
