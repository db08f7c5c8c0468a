// Shows the report whose data are in this page.
(function () {

const charts = typeof d3 === 'undefined' ? null : d3;
const kMostLayers = 200;    // rows put into the table before somebody asks for more
const kMostDots = 3000;     // in the roofline
const kMostTracks = 48;     // in the timeline
const kMostDevices = 64;    // in the table of one event
const kMostRuns = 100;
const kShares = [
  ['measured and predicted', 'predicted'], ['measured without prediction', 'measured'],
  ['seen but not measured', 'seen'], ['idle or not seen', 'idle']];
const kKinds = ['slower', 'faster', 'expected', 'bound', 'unknown'];
const kKindWords = {
  slower: 'slower than predicted', faster: 'faster than predicted', expected: 'as predicted',
  bound: 'above a bound', unknown: 'no verdict'};

// Data of another phase stand under ids of their own, and ?phase=N shows it.
const phaseAsked = new URLSearchParams(location.search).get('phase');
const dataOf = (id) => byId(id + '-phase-' + phaseAsked) || byId(id);

let data = null;
let samplesOfRows = null;
let runNames = null;

// ---- words and elements ------------------------------------------------------------------------

function swatch(name) {
  const square = element('span', {class: 'swatch'});
  square.style.background = 'var(--' + name + ')';
  return square;
}

function digits(value, count) {
  return value === null || value === undefined ? '–' : value.toFixed(count);
}

function interval([lower, upper]) {
  return microseconds(lower) + ' to ' + microseconds(upper);
}

function text(number) {
  return data.names[number];
}

// Layer and event.
function fullName(merged) {
  return [text(data.merged.layer[merged]), text(data.merged.event[merged])]
      .filter((part) => part !== '').join(' ');
}

function layerName(number) {
  return text(number) === '' ? '(no layer)' : text(number);
}

// Host and rank where they tell the files apart, else the file.
function runName(run) {
  if (runNames === null) {
    const names = data.runs.map(({host, rank}) => [host, rank === null ? '' : 'rank ' + rank]
        .filter((part) => part !== '').join(' '));
    const areClear = new Set(names).size === names.length && !names.includes('');
    runNames = areClear ? names : data.runs.map(({file}) => file);
  }
  return runNames[run];
}

function samplesOf(row) {
  if (samplesOfRows === null) samplesOfRows = JSON.parse(dataOf('sample-data').textContent);
  return samplesOfRows[row] || [];
}

// A table with these titles; those of numbers stand right.
function tableOf(titles, numberTitles, body) {
  const head = element('tr', {}, ...titles.map((title) => element('th', {scope: 'col'}, title)),
      ...numberTitles.map((title) => element('th', {scope: 'col', class: 'number'}, title)));
  return element('table', {}, element('thead', {}, head), body);
}

// Says on the button what is left of `all` behind the first `limit`, or hides it.
function showMore(id, limit, step, all, noun) {
  byId(id).hidden = all <= limit;
  byId(id).textContent = 'Show ' + Math.min(all - limit, step) + ' more of ' + all + ' ' + noun;
}

// ---- charts ------------------------------------------------------------------------------------

function newPicture(width, height, label) {
  return charts.create('svg').attr('viewBox', '0 0 ' + width + ' ' + height).attr('role', 'img')
      .attr('aria-label', label);
}

function addAxis(picture, axis, x, y) {
  picture.append('g').attr('class', 'axis').attr('transform', 'translate(' + x + ',' + y + ')').call(axis);
}

function addTitledAxes(picture, {width, height, margin, x, y}, titleOfX, titleOfY) {
  addAxis(picture, charts.axisBottom(x).ticks(8, '~g'), 0, height - margin.bottom);
  addAxis(picture, charts.axisLeft(y).ticks(6, '~g'), margin.left, 0);
  picture.append('text').attr('x', width - margin.right).attr('y', height - 8)
      .attr('text-anchor', 'end').text(titleOfX);
  picture.append('text').attr('transform', 'translate(14,' + margin.top + ') rotate(-90)')
      .attr('text-anchor', 'end').text(titleOfY);
}

// Draws `dots` into `picture`, which takes the element's place.  A click leads to the dot's event.
function showDots(id, picture, dots, {x, y, radius, fill, title, eventOf}, layers) {
  const marks = picture.append('g').selectAll('circle').data(dots).enter().append('circle')
      .attr('class', 'dot').attr('cx', x).attr('cy', y).attr('r', radius).attr('fill', fill);
  marks.append('title').text(title);
  picture.on('click', () => {
    const [dot] = marks.filter(':hover').data();
    if (dot) layers.choose(eventOf(dot));
  });
  byId(id).replaceChildren(picture.node());
}

// ---- head --------------------------------------------------------------------------------------

function showHead() {
  const files = data.runs.map((run) => run.file);
  const source = files.slice(0, 3).join(', ') +
      (files.length > 3 ? ' and ' + (files.length - 3) + ' more' : '');
  byId('source').textContent = source;
  document.title = source + ' – inline_prof report';
  for (const part of ['what', 'why', 'next']) byId(part).textContent = data.findings[part];
  const idOf = (label) => 'meaning-' + label.replace(' ', '-');
  const titleOf = (label) =>
      element('dt', {}, label in data.meanings ? element('a', {href: '#' + idOf(label)}, label) : label);
  for (const [label, words] of data.head) {
    byId('head').append(titleOf(label),
                        element('dd', {class: label === 'warning' ? 'warning' : null}, words));
    if (label === 'overhead' || label === 'event bias') {
      byId('overhead').append(titleOf(label), element('dd', {}, words));
    }
  }
  for (const [label, words] of Object.entries(data.meanings)) {
    byId('meanings').append(element('dt', {id: idOf(label)}, label), element('dd', {}, words));
  }
}

function showPhases() {
  if (data.phases.length < 2) return;
  const choice = byId('phase');
  for (const [number, words, isShown] of data.phases) {
    choice.append(element('option', {value: number, selected: isShown}, number + ': ' + words));
  }
  choice.addEventListener('change', () => { location.search = '?phase=' + choice.value; });
  byId('phases').hidden = false;
}

function showShares() {
  const body = byId('share-table').tBodies[0];
  if (data.shares_percent === null) {
    byId('share-bar').hidden = true;
    byId('share-table').replaceWith(element('p', {class: 'note'},
                                            'Not known: ' + data.shares_reason));
    return;
  }
  const words = [];
  kShares.forEach(([name, key], i) => {
    const percent = data.shares_percent[i];
    const part = element('span', {class: key}, percent >= 4 ? percent.toFixed(1) + ' %' : '');
    part.style.width = percent + '%';
    part.style.background = 'var(--' + key + ')';
    part.title = name;
    byId('share-bar').append(part);
    body.append(element('tr', {}, element('td', {}, swatch(key), name),
                        numberCell((data.shares_us[i] / 1000).toFixed(3)),
                        numberCell(percent.toFixed(1))));
    words.push(name + ' ' + percent.toFixed(1) + ' %');
  });
  byId('share-bar').setAttribute('aria-label', words.join(', '));
}

// What could be saved at most, the largest first.
function showCauses(layers) {
  byId('causes').hidden = data.causes.length === 0;
  if (data.causes.length === 0) {
    for (const link of document.querySelectorAll('.verdict a[href="#causes"]')) link.href = '#totals';
  }
  for (const [name, gain, gainPercent, share, rows, unit, advice, where, row] of data.causes) {
    const item = element('li', {}, element('b', {}, name), ': ' + (gainPercent === null ? '' : gainPercent.toFixed(1) + ' %, ') + microseconds(gain) + ' us' +
        (rows > 0 ? ' of ' + rows + ' ' + unit + (rows === 1 ? '' : 's') +
            (share === null ? '' : (rows === 1 ? ' that takes ' : ' that take ') + share.toFixed(1) + ' %') : '') + '; ' + advice + ' ');
    item.append(row === null ? where : button(where, () => layers.choose(row)));
    byId('cause-list').append(item);
  }
}

function showTotals() {
  for (const [title, totals] of data.totals) {
    const body = element('tbody', {});
    for (const [name, count, time, share, ratio, peak] of totals) {
      body.append(element('tr', {}, element('td', {class: 'sum'}, name), numberCell(String(count)), numberCell(microseconds(time)),
                          numberCell(share === null ? '' : share.toFixed(1)),
                          numberCell(ratio === null ? '' : ratio.toFixed(2)),
                          numberCell(peak === null ? '' : (100 * peak).toFixed(0))));
    }
    byId('total-tables').append(element('div', {class: 'scroll', tabindex: '0'},
        tableOf([title], ['Number', 'us', '%', 'Ratio', 'Peak, %'], body)));
  }
}

function showSections() {
  for (const section of document.querySelectorAll('section[data-title]')) {
    if (section.hidden) continue;
    byId('sections').append(element('a', {href: '#' + section.id}, section.dataset.title));
  }
}

// ---- the table of layers -----------------------------------------------------------------------

class LayerTable {
  constructor() {
    this.body = byId('layer-table').tBodies[0];
    this.sort = {key: 'share', descending: true};
    this.limit = kMostLayers;
    this.open = new Set();  // layers
    this.openEvents = new Set();
    this.chosen = null;
    this.prepare();
    this.listen();
    this.show();
  }

  prepare() {
    const {layers, merged} = data;
    this.kinds = merged.kind.map((kind) => text(kind));
    this.layerOfRow = new Array(merged.layer.length);
    this.searched = merged.layer.map(
        (layer, i) => [text(layer), text(merged.event[i]), text(merged.kernel[i])].join('\n')
            .toLowerCase());
    this.depth = merged.parent.map((parent) => {
      let depth = 0;
      for (; parent !== null; parent = merged.parent[parent]) ++depth;
      return depth;
    });
    layers.rows.forEach((rows, layer) => rows.forEach((row) => { this.layerOfRow[row] = layer; }));
    const counts = {};
    for (const kind of this.kinds) counts[kind] = (counts[kind] || 0) + 1;
    byId('verdict-filter').append(element('option', {value: ''}, 'any'));
    for (const kind of kKinds) {
      if (counts[kind]) {
        byId('verdict-filter').append(
            element('option', {value: kind}, kKindWords[kind] + ' (' + counts[kind] + ')'));
      }
    }
  }

  listen() {
    let waiting = 0;
    byId('filter').addEventListener('input', () => {
      clearTimeout(waiting);  // typing stays quick with many rows
      waiting = setTimeout(() => this.show(), 120);
    });
    byId('verdict-filter').addEventListener('change', () => this.show());
    byId('more-layers').addEventListener('click', () => {
      this.limit += kMostLayers;
      this.show();
    });
    for (const button of byId('layer-table').tHead.querySelectorAll('button')) {
      button.addEventListener('click', () => {
        const key = button.dataset.sort;
        const descending = this.sort.key === key ? !this.sort.descending : key !== 'name';
        this.sort = {key, descending};
        for (const other of byId('layer-table').tHead.querySelectorAll('th[aria-sort]')) {
          const isThis = other.contains(button);
          other.setAttribute('aria-sort',
                             !isThis ? 'none' : descending ? 'descending' : 'ascending');
        }
        this.show();
      });
    }
  }

  // The rows that the filters leave, for each layer that has any.
  matches() {
    const words = byId('filter').value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const kind = byId('verdict-filter').value;
    const found = [];
    data.layers.rows.forEach((rows, layer) => {
      const left = rows.filter((row) => (kind === '' || this.kinds[row] === kind) &&
          words.every((word) => this.searched[row].includes(word)));
      if (left.length > 0) found.push({layer, rows: left});
    });
    return found;
  }

  sorted(found) {
    const {layers} = data;
    const values = {
      share: layers.share_percent, time: layers.time_us, predicted: layers.predicted_us,
      ratio: layers.ratio}[this.sort.key];
    const sign = this.sort.descending ? -1 : 1;
    return found.sort((a, b) => {
      if (this.sort.key === 'name') {
        return sign * text(layers.name[a.layer]).localeCompare(text(layers.name[b.layer]),
                                                               undefined, {numeric: true});
      }
      const x = values[a.layer], y = values[b.layer];
      if (x === null || y === null) return (x === null) - (y === null);  // unknown ones last
      return sign * (x - y);
    });
  }

  show() {
    const found = this.sorted(this.matches());
    const rows = document.createDocumentFragment();
    for (const {layer, rows: events} of found.slice(0, this.limit)) {
      rows.append(this.layerRow(layer, events));
      if (this.open.has(layer)) this.addEvents(rows, events);
    }
    this.body.replaceChildren(rows);
    showMore('more-layers', this.limit, kMostLayers, found.length, 'layers');
    const events = found.reduce((sum, {rows: some}) => sum + some.length, 0);
    byId('layer-count').textContent = found.length + ' of ' + data.layers.name.length +
        ' layers, ' + events + ' of ' + data.merged.layer.length + ' events';
  }

  // After a change the button that made it keeps the focus.
  toggle(set, key, selector) {
    if (!set.delete(key)) set.add(key);
    this.show();
    const button = this.body.querySelector(selector);
    if (button !== null) button.focus();
  }

  shareCell(percent, largest) {
    const meter = element('span', {class: 'share-meter'});
    meter.style.width = Math.min(100, 100 * (percent || 0) / largest) + '%';
    return element('td', {class: 'number share'},
                   percent === null ? '–' : percent.toFixed(1) + ' %', meter);
  }

  largestShare() {
    return Math.max(1e-9, ...data.layers.share_percent.slice(0, 50000).map((share) => share || 0));
  }

  layerRow(layer, events) {
    const {layers} = data;
    const toggle = () => this.toggle(this.open, layer, '[data-layer="' + layer + '"] button');
    const counts = {};
    for (const row of events) counts[this.kinds[row]] = (counts[this.kinds[row]] || 0) + 1;
    const verdict = element('td', {});
    for (const kind of kKinds) {
      if (!counts[kind]) continue;
      if (verdict.hasChildNodes()) verdict.append(', ');
      verdict.append(element('span', {class: kind === 'unknown' ? 'quiet' : kind},
                             counts[kind] + ' ' + kKindWords[kind]));
    }
    const predicted = layers.predicted_us[layer], compared = layers.compared_us[layer];
    // Some rows have only one of both times.
    const isOfAPart = predicted !== null && Math.abs(compared - layers.time_us[layer]) > 0.05;
    return element('tr', {class: 'layer', 'data-layer': layer},
        element('td', {class: 'name'},
                button(layerName(layers.name[layer]), toggle, {'aria-expanded': String(this.open.has(layer))})),
        this.shareCell(layers.share_percent[layer], this.largest || (this.largest = this.largestShare())),
        numberCell(microseconds(layers.time_us[layer])),
        numberCell(microseconds(predicted) + (isOfAPart ? ' for ' + microseconds(compared) : '')),
        numberCell(digits(layers.ratio[layer], 2)),
        element('td', {}), verdict);
  }

  addEvents(rows, events) {
    for (const event of events) {
      rows.append(this.eventRow(event));
      if (this.openEvents.has(event)) rows.append(this.detailRow(event));
    }
  }

  eventRow(event) {
    const {merged} = data;
    const toggle =
        () => this.toggle(this.openEvents, event, '[data-event="' + event + '"] button');
    const name = element('td', {class: 'name'},
        button(text(data.merged.event[event]), toggle, {'aria-expanded': String(this.openEvents.has(event))}));
    name.style.paddingLeft = (1.6 + 1.2 * Math.min(6, this.depth[event])) + 'rem';
    if (merged.calls[event] > 1) {
      name.append(element('span', {class: 'quiet'}, ' ×' + merged.calls[event]));
    }
    const kind = this.kinds[event];
    const mostlyUpperBound = merged.not_tight[event] * 2 > merged.samples[event];
    return element('tr', {'data-event': event, class: this.chosen === event ? 'chosen' : null},
        name, this.shareCell(merged.share_percent[event], this.largest),
        numberCell((mostlyUpperBound ? '≤ ' : '') + microseconds(merged.corrected_us[event])),
        numberCell(microseconds(merged.predicted_us[event])),
        numberCell(digits(merged.ratio[event], 2)),
        element('td', {}, text(merged.bound[event])),
        element('td', {class: kind}, text(merged.verdict[event])));
  }

  detailRow(event) {
    const {merged, rows} = data;
    const facts = element('dl', {class: 'lines'});
    const fact = (label, words) => {
      if (words !== '') facts.append(element('dt', {}, label), element('dd', {}, words));
    };
    fact('kernel', text(merged.kernel[event]));
    fact('operation', text(merged.op[event]));
    fact('model', [text(merged.model[event]), text(merged.parameters[event])]
        .filter((part) => part !== '').join(', '));
    const raw95 = merged.raw_ci95_us[event], predicted90 = merged.predicted_ci90_us[event];
    fact('raw median', microseconds(merged.raw_us[event]) + ' us' +
        (raw95 === null ? '' : ', 95 % interval ' + interval(raw95)));
    if (predicted90 !== null) {
      fact('predicted', microseconds(merged.predicted_us[event]) + ' us, 90 % interval ' +
          interval(predicted90));
    }
    fact('samples', merged.samples[event] + ', of these outliers ' + merged.outliers[event] +
        ', upper bounds ' + merged.not_tight[event]);
    const cell = element('td', {class: 'inner', colspan: 7}, facts);
    const devices = merged.rows[event].slice().sort(
        (a, b) => rows.run[a] - rows.run[b] || rows.device_id[a] - rows.device_id[b]);
    if (charts) this.addStrip(cell, event, devices);
    const table = element('tbody', {});
    for (const row of devices.slice(0, kMostDevices)) {
      table.append(element('tr', {}, element('td', {}, runName(rows.run[row])),
          numberCell(String(rows.device_id[row])),
          numberCell(String(rows.stream_index[row])),
          numberCell(microseconds(rows.corrected_us[row])),
          numberCell(microseconds(rows.raw_mad_us[row])),
          numberCell(String(rows.samples[row])),
          numberCell(digits(rows.ratio[row], 2)),
          element('td', {}, text(rows.verdict[row]))));
    }
    cell.append(tableOf(['File', 'Device', 'Stream', 'Time, us', 'MAD, us', 'Samples', 'Ratio', 'Verdict'], [], table));
    if (devices.length > kMostDevices) {
      cell.append(element('p', {class: 'hint'}, kMostDevices + ' of ' + devices.length +
                                                    ' devices.'));
    }
    return element('tr', {}, cell);
  }

  // Every sample as a dot, a line of them for each device.
  addStrip(cell, event, devices) {
    const shown = devices.slice(0, 16).map((row) => samplesOf(row));
    const all = shown.flat();
    if (all.length === 0) return;
    const width = 640, rowHeight = 12, left = 10, top = 6, bottom = 42;
    const height = top + shown.length * rowHeight + bottom;
    const marks = [data.merged.predicted_us[event], data.merged.corrected_us[event]];
    // Single wild samples would press all others together: they are left out, and counted.
    all.sort((a, b) => a - b);
    const middle = [charts.quantile(all, 0.02), charts.quantile(all, 0.98)];
    const reach = middle[1] - middle[0];
    const lowest = Math.min(...marks.filter((mark) => mark !== null), middle[0] - reach / 2);
    const highest = Math.max(...marks.filter((mark) => mark !== null), middle[1] + reach / 2);
    const isShown = (sample) => sample >= lowest && sample <= highest;
    const leftOut = all.filter((sample) => !isShown(sample)).length;
    const x = charts.scaleLinear().domain([lowest, highest === lowest ? lowest + 1 : highest])
        .range([left, width - left]);
    const picture = newPicture(width, height, all.length + ' samples, ' + interval([lowest, highest]) + ' us')
        .style('max-width', '52rem');
    addAxis(picture, charts.axisBottom(x).ticks(6), 0, height - bottom + 4);
    picture.append('text').attr('x', width - left).attr('y', height - 6)
        .attr('text-anchor', 'end').text('us, corrected; a line for each device' +
            (marks[0] === null ? '' : '; upright: predicted') +
            (leftOut > 0 ? '; ' + leftOut + ' samples lie outside' : ''));
    shown.forEach((samples, i) => {
      picture.append('g').selectAll('circle').data(samples.filter(isShown)).enter()
          .append('circle').attr('cx', x).attr('cy', top + (i + 0.5) * rowHeight).attr('r', 2.4)
          .attr('fill', color('measured')).attr('fill-opacity', 0.6);
    });
    if (marks[0] !== null) {
      picture.append('line').attr('x1', x(marks[0])).attr('x2', x(marks[0])).attr('y1', 0)
          .attr('y2', height - bottom + 4).attr('stroke', 'var(--predicted)').attr('stroke-width', 2);
    }
    cell.append(picture.node());
  }

  // Opens the event's layer, and brings its row into view.
  choose(event) {
    byId('filter').value = '';
    byId('verdict-filter').value = '';
    this.chosen = event;
    const layer = this.layerOfRow[event];
    this.open.add(layer);
    this.openEvents.add(event);
    const place = this.sorted(this.matches()).findIndex((one) => one.layer === layer);
    this.limit = Math.max(this.limit, place + 1);
    this.show();
    const row = this.body.querySelector('[data-event="' + event + '"]');
    row.scrollIntoView({block: 'center'});
    row.querySelector('button').focus({preventScroll: true});
  }
}

// ---- the timeline ------------------------------------------------------------------------------

const kLaneHeight = 26, kBarHeight = 15, kPredictedHeight = 5, kTrackTitle = 16, kAxisHeight = 22;

class Timeline {
  constructor(layers) {
    this.layers = layers;
    this.canvas = byId('timeline-canvas');
    this.pen = this.canvas.getContext('2d');
    this.transform = charts.zoomIdentity;
    this.chosen = null;  // {track, bar}
    this.addDevices();
    this.addLegend();
    this.listen();
    this.chooseDevice();
  }

  addDevices() {
    const seen = new Map();
    data.tracks.forEach((track) => {
      const key = track.run + '/' + track.device;
      if (!seen.has(key)) seen.set(key, runName(track.run) + ', device ' + track.device);
    });
    const select = byId('timeline-device');
    if (seen.size > 1) select.append(element('option', {value: ''}, 'all ' + seen.size));
    for (const [key, name] of seen) select.append(element('option', {value: key}, name));
    if (seen.size > 1) select.value = seen.keys().next().value;
  }

  addLegend() {
    for (const kind of kKinds) {
      byId('timeline-legend').append(element('span', {}, swatch(kind), kKindWords[kind]));
    }
  }

  chooseDevice() {
    const key = byId('timeline-device').value;
    const fitting = data.tracks.filter(
        (track) => key === '' || track.run + '/' + track.device === key);
    this.tracks = fitting.slice(0, kMostTracks);
    let y = kAxisHeight;
    let end = data.iteration_us || 0;
    this.tops = this.tracks.map((track) => {
      const top = y;
      y += kTrackTitle + track.lanes * kLaneHeight + 4;
      return top;
    });
    this.height = y + 2;
    let start = 0;
    for (const track of this.tracks) {
      for (let i = 0; i < track.row.length; ++i) {
        start = Math.min(start, track.start_us[i]);
        end = Math.max(end, track.start_us[i] + track.length_us[i]);
      }
    }
    this.span = [start, end > start ? end : start + 1];
    this.leftOut = fitting.length - this.tracks.length;
    this.chosen = null;
    this.say(this.leftOut > 0 ? this.leftOut + ' more streams: choose a device to see them.' :
                                 'Choose a bar to see its numbers.');
    this.resize();
  }

  listen() {
    byId('timeline-device').addEventListener('change', () => this.chooseDevice());
    this.zoom = charts.zoom().scaleExtent([1, 20000])
        .filter(() => true)
        .on('zoom', (event) => {
          // D3 5 keeps the event in d3.event, later ones hand it over.
          this.transform = (event && event.transform ? event : charts.event).transform;
          this.draw();
        });
    this.selection = charts.select(this.canvas);
    this.selection.call(this.zoom).on('dblclick.zoom', null);
    const hitBy = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return this.barAt(event.clientX - box.left, event.clientY - box.top);
    };
    this.canvas.addEventListener('click', (event) => {
      const hit = hitBy(event);
      if (hit) this.choose(hit);
    });
    this.canvas.addEventListener('mousemove', (event) => {
      const hit = hitBy(event);
      this.canvas.style.cursor = hit ? 'pointer' : 'default';
      this.canvas.title = hit ? this.nameOf(hit) : '';
    });
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    byId('zoom-in').addEventListener('click', () => this.scale(1.6));
    byId('zoom-out').addEventListener('click', () => this.scale(1 / 1.6));
    byId('zoom-all').addEventListener('click', () => this.all());
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
  }

  scale(factor) { this.selection.call(this.zoom.scaleBy, factor); }
  all() { this.selection.call(this.zoom.transform, charts.zoomIdentity); }

  key(event) {
    const actions = {
      ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1),
      ArrowDown: () => this.stepTrack(1), ArrowUp: () => this.stepTrack(-1),
      '+': () => this.scale(1.6), '=': () => this.scale(1.6), '-': () => this.scale(1 / 1.6),
      0: () => this.all(), Enter: () => this.chosen && this.layers.choose(this.mergedOf(this.chosen)),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  step(by) {
    if (this.chosen === null) return this.stepTrack(0);
    const bars = this.tracks[this.chosen.track].row.length;
    const bar = Math.min(bars - 1, Math.max(0, this.chosen.bar + by));
    this.choose({track: this.chosen.track, bar});
  }

  stepTrack(by) {
    if (this.tracks.length === 0) return;
    const now = this.chosen === null ? 0 : this.chosen.track + by;
    const track = Math.min(this.tracks.length - 1, Math.max(0, now));
    if (this.chosen === null || track !== this.chosen.track) this.choose({track, bar: 0});
  }

  mergedOf({track, bar}) { return data.rows.merged[this.tracks[track].row[bar]]; }

  nameOf(place) { return fullName(this.mergedOf(place)); }

  say(...content) { byId('timeline-details').replaceChildren(...content); }

  choose(place) {
    this.chosen = place;
    const {rows} = data;
    const track = this.tracks[place.track];
    const row = track.row[place.bar];
    const start = track.start_us[place.bar];
    // A bar that is chosen by key may lie outside of what is shown.
    const x = this.scaled();
    const [from, to] = x.domain();
    if (start < from || start > to) {
      this.selection.call(this.zoom.translateTo, charts.scaleLinear().domain(this.span)
          .range([0, this.width])(start), 0);
    }
    const parts = [element('b', {}, this.nameOf(place)), ' – starts at ' + microseconds(start) +
        ' us' + (track.has_place[place.bar] ? '' : ' (not measured)') + ', takes ' +
        microseconds(track.length_us[place.bar]) + ' us'];
    if (rows.predicted_us[row] !== null) {
      parts.push(', predicted ' + microseconds(rows.predicted_us[row]) + ' us' +
          (rows.predicted_ci90_us[row] === null ? '' :
               ' (' + interval(rows.predicted_ci90_us[row]) + ')'));
    }
    parts.push('; ' + text(rows.verdict[row]) + '. ');
    this.say(...parts, button('Show in the table', () => this.layers.choose(this.mergedOf(place))));
    this.draw();
  }

  scaled() {
    return this.transform.rescaleX(
        charts.scaleLinear().domain(this.span).range([0, this.width]));
  }

  barAt(px, py) {
    const x = this.scaled();
    for (let t = 0; t < this.tracks.length; ++t) {
      const within = py - this.tops[t] - kTrackTitle;
      const track = this.tracks[t];
      if (within < 0 || within >= track.lanes * kLaneHeight) continue;
      const lane = Math.floor(within / kLaneHeight);
      let best = null, distance = 3;  // pixels: thin bars can be met, too
      for (let i = 0; i < track.row.length; ++i) {
        if (track.lane[i] !== lane) continue;
        const left = x(track.start_us[i]), right = x(track.start_us[i] + track.length_us[i]);
        const off = px < left ? left - px : px > right ? px - right : 0;
        if (off < distance) {
          distance = off;
          best = {track: t, bar: i};
        }
      }
      return best;
    }
    return null;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.max(200, this.canvas.parentElement.clientWidth - 2);
    this.canvas.style.height = this.height + 'px';
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.zoom.translateExtent([[0, 0], [this.width, this.height]])
        .extent([[0, 0], [this.width, this.height]]);
    this.draw();
  }

  draw() {
    const {pen, width, height} = this;
    const colors = {};
    for (const name of ['ground', 'panel', 'line', 'text', 'quiet', 'accent', 'predicted', 'on-bar',
                        ...kKinds]) {
      colors[name] = color(name);
    }
    const x = this.scaled();
    pen.fillStyle = colors.ground;
    pen.fillRect(0, 0, width, height);
    pen.font = '11px system-ui, "DejaVu Sans", Arial, sans-serif';
    pen.textBaseline = 'middle';
    this.drawAxis(x, colors);
    this.tracks.forEach((track, t) => this.drawTrack(track, t, x, colors));
  }

  drawAxis(x, colors) {
    const {pen, height} = this;
    const line = (at, top, ink) => {
      pen.strokeStyle = ink;
      pen.beginPath();
      pen.moveTo(at, top);
      pen.lineTo(at, height);
      pen.stroke();
    };
    const ticks = x.ticks(Math.max(2, Math.floor(this.width / 110)));
    const words = x.tickFormat(ticks.length);
    for (const tick of ticks) {
      const at = Math.round(x(tick)) + 0.5;
      line(at, kAxisHeight - 4, colors.line);
      pen.fillStyle = colors.quiet;
      pen.fillText(words(tick) + ' us', at + 3, 9);
    }
    if (data.iteration_us !== null) {
      pen.setLineDash([4, 3]);
      line(Math.round(x(data.iteration_us)) + 0.5, 0, colors.accent);
      pen.setLineDash([]);
    }
  }

  drawTrack(track, t, x, colors) {
    const {pen, width} = this;
    const top = this.tops[t];
    pen.fillStyle = colors.panel;
    pen.fillRect(0, top, width, kTrackTitle - 2);
    pen.fillStyle = colors.text;
    pen.fillText(runName(track.run) + ', device ' + track.device + ', stream ' + track.stream, 6,
                 top + kTrackTitle / 2 - 1);
    const {rows} = data;
    const last = new Array(track.lanes).fill(-1);  // the pixel that a lane's last bar reached
    for (let i = 0; i < track.row.length; ++i) {
      const row = track.row[i];
      const left = x(track.start_us[i]);
      const right = x(track.start_us[i] + track.length_us[i]);
      const predicted = rows.predicted_us[row];
      const farthest = predicted === null ? right : Math.max(right, x(track.start_us[i] + predicted));
      if (farthest < 0 || left > width) continue;
      const lane = track.lane[i];
      const isChosen = this.chosen && this.chosen.track === t && this.chosen.bar === i;
      // Bars thinner than a pixel in a place that is painted already change nothing.
      if (!isChosen && right < last[lane] + 0.5) continue;
      last[lane] = Math.max(last[lane], right);
      const y = top + kTrackTitle + lane * kLaneHeight;
      const shown = Math.max(left, 0);
      const size = Math.max(0.7, Math.min(right, width) - shown);
      pen.fillStyle = colors[this.layers.kinds[rows.merged[row]]];
      pen.globalAlpha = track.has_place[i] ? 1 : 0.65;
      pen.fillRect(shown, y, size, kBarHeight);
      pen.globalAlpha = 1;
      if (predicted !== null) {
        pen.fillStyle = colors.predicted;
        pen.fillRect(left, y + kBarHeight + 1, Math.max(0.7, x(track.start_us[i] + predicted) - left),
                     kPredictedHeight);
      }
      if (size > 3 && track.has_place[i]) {
        pen.strokeStyle = colors.ground;
        pen.strokeRect(shown + 0.5, y + 0.5, size - 1, kBarHeight - 1);
      }
      if (size > 42) this.drawName({track: t, bar: i}, shown, y, size, colors);
      if (isChosen) {
        pen.strokeStyle = colors.text;
        pen.lineWidth = 2;
        pen.strokeRect(shown - 1, y - 1, size + 2, kBarHeight + kPredictedHeight + 3);
        pen.lineWidth = 1;
      }
    }
  }

  drawName(place, left, y, size, colors) {
    const {pen} = this;
    pen.save();
    pen.beginPath();
    pen.rect(left + 2, y, size - 5, kBarHeight);
    pen.clip();
    pen.fillStyle = colors['on-bar'];
    pen.fillText(this.nameOf(place), left + 4, y + kBarHeight / 2 + 1);
    pen.restore();
  }
}

// ---- distributions -----------------------------------------------------------------------------

// Counts of `values` in a frame; `marks` are lines across it.
function histogram(place, values, unit, marks) {
  const width = 560, height = 230, margin = {left: 46, right: 14, top: 16, bottom: 38};
  if (values.length === 0) {
    place.replaceChildren(element('p', {class: 'hint'}, 'Nothing to show.'));
    return;
  }
  const sorted = values.slice().sort((a, b) => a - b);
  // The middle 98 %: single wild values would leave all others in one bar.
  let low = charts.quantile(sorted, 0.01);
  let high = charts.quantile(sorted, 0.99);
  for (const mark of marks) {
    low = Math.min(low, mark.at);
    high = Math.max(high, mark.at);
  }
  if (!(high > low)) [low, high] = [low * 0.95 - 1e-9, high * 1.05 + 1e-9];
  const scale = low > 0 && high > 3 * low ? 'log' : 'linear';
  const x = (scale === 'log' ? charts.scaleLog() : charts.scaleLinear()).domain([low, high])
      .range([margin.left, width - margin.right]);
  const bins = 44;
  const counts = new Array(bins).fill(0);
  let outside = 0;
  for (const value of sorted) {
    const bin = Math.floor((x(value) - margin.left) / (width - margin.left - margin.right) * bins);
    if (value < low || value > high) ++outside;
    else ++counts[Math.min(bins - 1, bin)];
  }
  const y = charts.scaleLinear().domain([0, Math.max(...counts)]).nice()
      .range([height - margin.bottom, margin.top]);
  const picture = newPicture(width, height, values.length + ' values, middle 98 % from ' +
      interval([low, high]) + ' ' + unit);
  const step = (width - margin.left - margin.right) / bins;
  picture.append('g').selectAll('rect').data(counts).enter().append('rect')
      .attr('x', (count, i) => margin.left + i * step).attr('width', step - 0.7)
      .attr('y', y).attr('height', (count) => height - margin.bottom - y(count))
      .attr('fill', 'var(--expected)');
  const axis = charts.axisBottom(x);
  if (scale === 'log') axis.ticks(6, '~g');
  else axis.ticks(6);
  addAxis(picture, axis, 0, height - margin.bottom);
  addAxis(picture, charts.axisLeft(y).ticks(4), margin.left, 0);
  picture.append('text').attr('x', width - margin.right).attr('y', height - 4)
      .attr('text-anchor', 'end')
      .text(unit + (outside > 0 ? '; ' + outside + ' of ' + values.length + ' lie outside' : ''));
  for (const mark of marks) {
    picture.append('line').attr('x1', x(mark.at)).attr('x2', x(mark.at)).attr('y1', margin.top)
        .attr('y2', height - margin.bottom).attr('stroke', 'var(--slower)')
        .attr('stroke-dasharray', '4 3');
    picture.append('text').attr('x', x(mark.at) + 4).attr('y', margin.top + 4).text(mark.words);
  }
  place.replaceChildren(picture.node());
}

function showDistributions() {
  const iterations = data.runs.flatMap((run) => run.iterations_us);
  const marks = data.iteration_us === null ? [] :
      [{at: data.iteration_us, words: 'median ' + microseconds(data.iteration_us)}];
  histogram(byId('iteration-chart'), iterations, 'us', marks);
  const ratios = data.rows.ratio.filter((ratio) => ratio !== null && ratio > 0);
  histogram(byId('ratio-chart'), ratios, 'measured / predicted', [{at: 1, words: '1'}]);
}

// ---- roofline ----------------------------------------------------------------------------------

function rooflineDots(layers) {
  const {merged} = data;
  const dots = [];
  for (let i = 0; i < merged.layer.length; ++i) {
    const flops = merged.flops[i], bytes = merged.bytes[i], time = merged.corrected_us[i];
    // What moves data only has no place on an axis of operations per byte.
    if (!(flops > 0) || !(bytes > 0) || !(time > 0)) continue;
    dots.push({event: i, intensity: flops / bytes, rate: flops / time / 1e6,
               size: merged.in_iteration_us[i] || time, kind: layers.kinds[i]});
  }
  return dots.sort((a, b) => b.size - a.size).slice(0, kMostDots);
}

function showRoofline(layers) {
  const dots = rooflineDots(layers);
  if (dots.length === 0) return;
  byId('roofline').hidden = false;
  const machine = data.machines[0];
  byId('roofline-words').textContent = dots.length + ' events with operations and bytes' +
      (machine ? ', under what ' + machine.id + ' can reach (its peaks and bandwidth, each times ' +
       'the fraction that large operations reach)' : '') +
      '. Larger dots take more of the iteration. Copies and element-wise events have no place here.';
  const width = 1000, height = 440, margin = {left: 62, right: 120, top: 14, bottom: 44};
  const peaks = machine ? Object.entries(machine.tflops).filter(([, peak]) => peak > 0) : [];
  const intensities = dots.map((dot) => dot.intensity), rates = dots.map((dot) => dot.rate);
  const highest = Math.max(...rates, ...peaks.map(([, peak]) => peak));
  const ridge = machine ? highest * 1000 / machine.gb_per_s : 1;
  const x = charts.scaleLog()
      .domain([Math.min(...intensities, ridge / 30) / 1.5, Math.max(...intensities, ridge * 3) * 1.5])
      .range([margin.left, width - margin.right]);
  const y = charts.scaleLog().domain([Math.min(...rates) / 2, highest * 1.6])
      .range([height - margin.bottom, margin.top]);
  const picture = newPicture(width, height, 'Roofline of ' + dots.length + ' events');
  addTitledAxes(picture, {width, height, margin, x, y}, 'operations per byte', 'TFLOP/s');
  const [xLow, xHigh] = x.domain();
  const [yLow] = y.domain();
  let lastLabel = -Infinity;
  for (const [type, peak] of peaks.sort((a, b) => a[1] - b[1])) {
    const turn = Math.min(xHigh, Math.max(xLow, peak * 1000 / machine.gb_per_s));
    const start = Math.max(xLow, yLow * 1000 / machine.gb_per_s);
    const points = [[start, Math.min(peak, start * machine.gb_per_s / 1000)], [turn, peak], [xHigh, peak]]
        .filter(([, rate]) => rate >= yLow);
    picture.append('path').attr('class', 'roof')
        .attr('d', charts.line().x((point) => x(point[0])).y((point) => y(point[1]))(points));
    const at = y(peak);
    if (at < yLow || Math.abs(at - lastLabel) < 11) continue;  // equal peaks: one label
    const equal = peaks.filter(([, other]) => Math.abs(y(other) - at) < 11).map(([name]) => name);
    picture.append('text').attr('x', width - margin.right + 6).attr('y', at + 4)
        .text(equal.join(', '));
    lastLabel = at;
  }
  const largest = Math.max(...dots.map((dot) => dot.size));
  showDots('roofline-chart', picture, dots, {
    x: (dot) => x(dot.intensity), y: (dot) => y(dot.rate),
    radius: (dot) => 3 + 7 * Math.sqrt(dot.size / largest), fill: (dot) => 'var(--' + dot.kind + ')',
    title: (dot) => fullName(dot.event) + ': ' + dot.rate.toFixed(1) + ' TFLOP/s at ' +
        dot.intensity.toFixed(1) + ' operations per byte',
    eventOf: (dot) => dot.event}, layers);
}

// ---- models ------------------------------------------------------------------------------------

const kModelColors = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#d55e00', '#56b4e9', '#8a6fb3',
                      '#98a1ab', '#b8a000', '#7a4b2a'];
const modelColor = (model) => kModelColors[model % kModelColors.length];

function showModels() {
  if (data.models === null) return;
  byId('models').hidden = false;
  const body = byId('models-table').tBodies[0];
  for (const [kind, model, rows, predicted, share, gmae, mape, bias, inside, withInterval, reason]
       of data.models.scores) {
    body.append(element('tr', {}, element('td', {}, kind), element('td', {}, model),
        numberCell(predicted + ' of ' + rows), numberCell(digits(share, 1)),
        numberCell(digits(gmae, 1)), numberCell(digits(mape, 1)), numberCell(digits(bias, 1)),
        numberCell(withInterval ? inside + ' of ' + withInterval : '–'),
        element('td', {}, predicted < rows ? rows - predicted + ': ' + reason : '')));
  }
  data.models.models.forEach((model, i) => {
    const square = element('span', {class: 'swatch'});
    square.style.background = modelColor(i);
    byId('models-legend').append(square, ' ' + model + ' ');
  });
}

function showModelsChart(layers) {
  if (data.models === null) return;
  const measured = data.merged.corrected_us;
  const dots = data.models.points.filter(([, row, time]) => measured[row] > 0 && time > 0)
      .sort((a, b) => measured[b[1]] - measured[a[1]]).slice(0, kMostDots);
  if (dots.length === 0) return;
  const width = 1000, height = 480, margin = {left: 62, right: 20, top: 14, bottom: 44};
  const times = dots.flatMap(([, row, time]) => [measured[row], time]);
  const domain = [Math.min(...times) / 1.3, Math.max(...times) * 1.3];
  const x = charts.scaleLog().domain(domain).range([margin.left, width - margin.right]);
  const y = charts.scaleLog().domain(domain).range([height - margin.bottom, margin.top]);
  const picture = newPicture(width, height, dots.length + ' predictions against measured times');
  addTitledAxes(picture, {width, height, margin, x, y}, 'measured, us', 'predicted, us');
  picture.append('path').attr('class', 'roof')
      .attr('d', charts.line()(domain.map((end) => [x(end), y(end)])));
  showDots('models-chart', picture, dots, {
    x: ([, row]) => x(measured[row]), y: ([, , time]) => y(time),
    radius: ([model]) => (model === 0 ? 6 : 4),  // the choice is one of the others
    fill: ([model]) => modelColor(model),
    title: ([model, row, time]) => fullName(row) + ': ' + data.models.models[model] + ' ' +
        microseconds(time) + ' us, measured ' + microseconds(measured[row]) + ' us',
    eventOf: ([, row]) => row}, layers);
}

// ---- several files -----------------------------------------------------------------------------

// Time of the chosen layer in each run: mean and maximum over its devices.
function timesOfRuns(layer) {
  const {layers, merged, rows, runs} = data;
  const sums = runs.map(() => new Map());
  for (const outer of layers.outer_rows[layer]) {
    for (const row of merged.rows[outer]) {
      const time = rows.in_iteration_us[row];
      if (time === null) continue;
      const ofRun = sums[rows.run[row]];
      ofRun.set(rows.device_id[row], (ofRun.get(rows.device_id[row]) || 0) + time);
    }
  }
  return sums.map((ofRun) => {
    const times = [...ofRun.values()];
    if (times.length === 0) return {mean: null, slowest: null};
    return {mean: times.reduce((sum, time) => sum + time, 0) / times.length,
            slowest: Math.max(...times)};
  });
}

class RunsView {
  constructor() {
    if (data.runs.length < 2) return;
    byId('runs').hidden = false;
    this.limit = kMostRuns;
    const select = byId('runs-layer');
    select.append(element('option', {value: ''}, 'whole iteration'));
    const order = data.layers.share_percent.map((share, i) => i)
        .sort((a, b) => (data.layers.share_percent[b] || 0) - (data.layers.share_percent[a] || 0));
    for (const layer of order.slice(0, 500)) {
      select.append(element('option', {value: layer}, layerName(data.layers.name[layer])));
    }
    select.addEventListener('change', () => this.show());
    byId('more-runs').addEventListener('click', () => {
      this.limit += kMostRuns;
      this.show();
    });
    this.show();
  }

  show() {
    const layer = byId('runs-layer').value;
    const times = layer === '' ?
        data.runs.map((run) => ({mean: run.iteration_us, slowest: run.iteration_us})) :
        timesOfRuns(Number(layer));
    const body = byId('runs-table').tBodies[0];
    body.replaceChildren();
    data.runs.slice(0, this.limit).forEach((run, i) => {
      body.append(element('tr', {}, element('td', {class: 'name'}, run.file),
          element('td', {}, run.host),
          numberCell(run.rank === null ? '–' : String(run.rank)),
          numberCell(microseconds(run.iteration_us)),
          numberCell(microseconds(times[i].mean)),
          numberCell(microseconds(times[i].slowest))));
    });
    showMore('more-runs', this.limit, kMostRuns, data.runs.length, 'files');
    if (charts) this.draw(times);
  }

  draw(times) {
    const count = times.length;
    const width = 1000, height = 260, margin = {left: 58, right: 10, top: 14, bottom: 46};
    const x = charts.scaleBand().domain(times.map((time, i) => i))
        .range([margin.left, width - margin.right]).padding(0.2);
    const most = Math.max(0, ...times.map((time) => time.slowest || 0));
    const y = charts.scaleLinear().domain([0, most || 1]).nice()
        .range([height - margin.bottom, margin.top]);
    const picture = newPicture(width, height, 'Times of ' + count + ' files');
    const every = Math.ceil(count / 16);
    addAxis(picture, charts.axisBottom(x).tickValues(x.domain().filter((i) => i % every === 0))
        .tickFormat((i) => runName(i).slice(-18)), 0, height - margin.bottom);
    addAxis(picture, charts.axisLeft(y).ticks(5), margin.left, 0);
    picture.append('text').attr('x', margin.left).attr('y', height - 4)
        .text('us; pale: slowest device of the file');
    for (const [key, fill] of [['slowest', 'idle'], ['mean', 'expected']]) {
      picture.append('g').selectAll('rect').data(times).enter()
          .append('rect').attr('x', (time, i) => x(i)).attr('width', x.bandwidth())
          .attr('y', (time) => y(time[key] || 0))
          .attr('height', (time) => height - margin.bottom - y(time[key] || 0))
          .attr('fill', 'var(--' + fill + ')');
    }
    byId('runs-chart').replaceChildren(picture.node());
  }
}

// ---- start -------------------------------------------------------------------------------------

function start() {
  data = JSON.parse(dataOf('report-data').textContent);
  byId('report').hidden = false;
  showHead();
  showPhases();
  showShares();
  const layers = new LayerTable();
  showCauses(layers);
  showTotals();
  showModels();
  let timeline = null;
  if (charts) {
    if (data.tracks.length > 0) timeline = new Timeline(layers);
    else byId('timeline').hidden = true;
    showDistributions();
    showRoofline(layers);
    showModelsChart(layers);
  } else {
    for (const part of document.querySelectorAll('.needs-charts')) part.hidden = true;
    byId('no-charts').hidden = false;
  }
  new RunsView();
  showSections();
  const repaint = () => {
    if (timeline) timeline.draw();
    layers.show();
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
  addEventListener('beforeprint', () => {
    document.documentElement.classList.add('printing');
    repaint();
  });
  addEventListener('afterprint', () => {
    document.documentElement.classList.remove('printing');
    repaint();
  });
  document.documentElement.dataset.loadedMs = performance.now().toFixed(0);
}

try {
  start();
} catch (error) {
  byId('failure').hidden = false;
  byId('failure').textContent = 'This page cannot be shown: ' + error.message;
}
})();
