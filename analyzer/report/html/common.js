// Functions of all pages.  Names come from files that anybody may have written: they reach a page as
// text nodes and canvas text only, never as markup.
'use strict';

const byId = (id) => document.getElementById(id);

function element(tag, attributes, ...content) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  for (const part of content) {
    if (part !== null && part !== undefined) node.append(part);  // a string becomes a text node
  }
  return node;
}

function button(words, click, attributes) {
  const node = element('button', {type: 'button', ...attributes}, words);
  node.addEventListener('click', click);
  return node;
}

function numberCell(words) {
  return element('td', {class: 'number'}, words);
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

function microseconds(value) {
  if (value === null || value === undefined) return '–';
  return value >= 1000 ? value.toFixed(0) : value >= 100 ? value.toFixed(1) : value.toFixed(2);
}
