// The navigation: pages in groups, so that all of them fit one row of 1280 px. A group is a button
// that unfolds its pages (the disclosure pattern of WAI-ARIA); a group of one page is its link.

import {h} from './dom.js';

/** groups stand in this order; a page names its group. */
const groups = ['Work', 'Parties', 'Lists', 'Rules', 'History', 'System'];

let opened = null; // The group whose pages are shown.

function close(focus) {
  if (!opened) return;
  const {button, panel} = opened;
  opened = null;
  button.setAttribute('aria-expanded', 'false');
  panel.hidden = true;
  if (focus) button.focus();
}

function open(group) {
  close();
  opened = group;
  group.button.setAttribute('aria-expanded', 'true');
  group.panel.hidden = false;
}

/** isHere reports whether a page is the one that is shown, or the list from which that one was opened. */
const isHere = (page, current) => Boolean(current) && (page === current || (page.path !== '' && current.path.startsWith(`${page.path}/`)));

const pageLink = (page, current) => h('a', {href: `/console/${page.path}`, 'aria-current': isHere(page, current) ? 'page' : undefined}, page.title);

/** move goes with the arrows from page to page of a group, and Escape folds it. */
function move(event, group) {
  const links = [...group.panel.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1}[event.key];
  if (event.key === 'Escape' && opened === group) {
    event.preventDefault();
    close(true);
  } else if (to !== undefined && (opened === group || event.key === 'ArrowDown')) {
    event.preventDefault();
    if (opened !== group) open(group);
    links[(to + links.length) % links.length].focus();
  }
}

function groupView(name, pages, current) {
  const id = `nav-${name.toLowerCase()}`;
  const group = {
    button: h('button', {type: 'button', 'aria-expanded': 'false', 'aria-controls': id, class: current?.group === name || pages.some((page) => isHere(page, current)) ? 'here' : undefined, onclick: () => (opened === group ? close() : open(group))}, name),
    panel: h('ul', {id, hidden: true, 'aria-label': name}, pages.map((page) => h('li', null, pageLink(page, current)))),
  };
  return h('div', {class: 'group', onkeydown: (event) => move(event, group), onfocusout: (event) => {
    if (opened === group && event.relatedTarget && !event.currentTarget.contains(event.relatedTarget)) close();
  }}, group.button, group.panel);
}

/** navigation is the row of groups over the pages that the key may see. */
export function navigation(pages, current) {
  opened = null;
  const shown = pages.filter((page) => !page.hidden);
  return h('nav', {'aria-label': 'Pages'}, shown.filter((page) => !page.group).map((page) => pageLink(page, current)), groups.map((name) => {
    const own = shown.filter((page) => page.group === name);
    return own.length > 1 ? groupView(name, own, current) : own.map((page) => pageLink(page, current));
  }));
}

document.addEventListener('pointerdown', (event) => { if (opened && !event.target.closest?.('.group')) close(); });
document.addEventListener('click', (event) => { if (opened && event.target.closest?.('.group a')) close(); });
