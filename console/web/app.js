// The frame around all pages: it knows who is signed in, chooses the page for the address and
// handles the keyboard.

import {h, put, say} from './dom.js';
import * as api from './api.js';
import {showQueue} from './queue.js';
import {showCase} from './case.js';
import {showOverview} from './overview.js';
import {showMatch, showPlayground} from './tools.js';
import {showLists, showList} from './lists.js';
import {showAgents, showAgent, showFleets, showFleet, showUsers, showOperators} from './parties.js';
import {showPolicy} from './policy.js';
import {showActivity, showCluster} from './system.js';
import {showAlerts, showReports} from './alerts.js';
import {showSanctions, showSanctionsCase} from './sanctions.js';
import {showCleared} from './cleared.js';
import {showProposals} from './proposals.js';
import {showForesight, showBacktest, showShadow, showRetro} from './foresight.js';
import {shortcuts, setShortcuts} from './settings.js';

const reader = ['reviewer', 'auditor'];
const pages = [
  {path: '', title: 'Overview', show: showOverview, roles: ['operator', 'screener', 'reviewer', 'auditor', 'policy', 'ops']},
  {path: 'queue', title: 'Queue', show: showQueue, roles: reader},
  {path: 'case/:id', title: 'Case', show: showCase, hidden: true},
  {path: 'alerts', title: 'Alerts', show: showAlerts, roles: reader, whole: true},
  {path: 'reports', title: 'Reports', show: showReports, roles: reader, whole: true},
  {path: 'sanctions', title: 'Sanctions', show: showSanctions, roles: reader, whole: true},
  {path: 'sanctions/:id', title: 'Sanctions case', show: showSanctionsCase, hidden: true, roles: reader, whole: true},
  {path: 'proposals', title: 'Proposals', show: showProposals, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'match', title: 'Match', show: showMatch, roles: ['reviewer', 'policy', 'auditor']},
  {path: 'cleared', title: 'Cleared pairs', show: showCleared, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'lists', title: 'Lists', show: showLists, roles: ['policy', 'ops', 'reviewer', 'auditor'], whole: true},
  {path: 'lists/:id', title: 'List', show: showList, hidden: true, roles: ['policy', 'ops', 'reviewer', 'auditor'], whole: true},
  {path: 'agents', title: 'Agents', show: showAgents, roles: ['operator', 'reviewer', 'auditor', 'policy']},
  {path: 'agents/:id', title: 'Agent', show: showAgent, hidden: true},
  {path: 'fleets', title: 'Fleets', show: showFleets, roles: ['operator', 'reviewer', 'auditor', 'policy']},
  {path: 'fleets/:id', title: 'Fleet', show: showFleet, hidden: true},
  {path: 'users', title: 'Users', show: showUsers, roles: ['operator', 'reviewer', 'auditor', 'policy']},
  {path: 'users/:id', title: 'User', show: showUsers, hidden: true},
  {path: 'operators', title: 'Operators', show: showOperators, roles: ['operator', 'reviewer', 'auditor', 'policy']},
  {path: 'policy', title: 'Policy', show: showPolicy, roles: ['operator', 'reviewer', 'auditor', 'policy'], whole: true},
  {path: 'foresight', title: 'Foresight', show: showForesight, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'foresight/backtests/:id', title: 'Backtest', show: showBacktest, hidden: true, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'foresight/shadows/:id', title: 'Shadow', show: showShadow, hidden: true, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'foresight/retro/:id', title: 'Retro-screening', show: showRetro, hidden: true, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'activity', title: 'Activity', show: showActivity, roles: ['operator', 'screener', 'reviewer', 'auditor', 'ops', 'policy']},
  {path: 'playground', title: 'Playground', show: showPlayground, roles: ['policy', 'reviewer']},
  {path: 'cluster', title: 'Cluster', show: showCluster, roles: ['ops'], whole: true},
];

const main = document.getElementById('main');
const head = document.getElementById('head');
let leave = null;
let turn = 0;
let lastSeen = Date.now();

const allowed = (page) => !page.roles || (api.may(...page.roles) && (!page.whole || api.whole()));

function match(path) {
  const parts = path.split('/').filter(Boolean);
  for (const page of pages) {
    const wanted = page.path.split('/').filter(Boolean);
    if (wanted.length !== parts.length) continue;
    const params = {};
    if (wanted.every((w, i) => (w.startsWith(':') ? Boolean((params[w.slice(1)] = decodeURIComponent(parts[i]))) : w === parts[i]))) return {page, params};
  }
  return null;
}

/** go shows an address of ours. */
export function go(path) {
  history.pushState(null, '', path);
  show();
}

async function show() {
  const mine = (turn += 1);
  if (leave) leave();
  leave = null;
  const found = match(location.pathname.replace(/^\/console/, ''));
  header(found?.page);
  if (!found || !allowed(found.page)) {
    document.title = 'Railguard';
    put(main, h('h1', null, found ? 'Not for this key' : 'No such page'),
      h('p', null, found ? `The key “${api.name()}” has not the role for this page.` : 'There is nothing at this address.'));
    return;
  }
  document.title = `${found.params.id ?? found.page.title} · Railguard`;
  put(main, h('p', {class: 'quiet'}, 'Loading …'));
  try {
    const place = h('div', {class: 'page'});
    const after = await found.page.show(place, found.params, go);
    if (mine !== turn) {
      if (after) after();
      return;
    }
    leave = after ?? null;
    put(main, place);
    if (document.activeElement === document.body) main.focus({preventScroll: true});
    say(`${found.page.title} shown`);
  } catch (error) {
    if (mine !== turn || !api.who().signedIn) return;
    put(main, h('h1', null, error.status === 404 ? 'Not found' : 'This did not work'), h('p', {class: 'note bad'}, error.message),
      h('button', {onclick: show}, 'Try again'));
  }
}

function header(current) {
  if (!api.who().signedIn) {
    put(head, h('span', {class: 'brand'}, 'Railguard'));
    return;
  }
  const key = api.who().key;
  put(head, h('a', {class: 'brand', href: '/console/'}, 'Railguard'),
    h('nav', {'aria-label': 'Pages'}, pages.filter((p) => !p.hidden && allowed(p)).map((p) =>
      h('a', {href: `/console/${p.path}`, 'aria-current': current && (p === current || (p.path && current.path.startsWith(`${p.path}/`))) ? 'page' : undefined}, p.title))),
    h('details', {class: 'menu'}, h('summary', null, key.name || key.keyId), h('div', null,
      h('p', null, `Roles: ${key.roles.join(', ')}`), key.owner && h('p', null, `Owner: ${key.owner}`),
      h('label', null, h('input', {type: 'checkbox', checked: shortcuts(), onchange: (e) => setShortcuts(e.target.checked)}), ' Keyboard shortcuts'),
      h('label', null, 'Look ', themes()),
      h('button', {onclick: async () => { await api.signOut(); signInPage(); }}, 'Sign out'))));
  const nav = head.querySelector('nav');
  const here = nav.querySelector('[aria-current]');
  if (here) nav.scrollLeft = here.offsetLeft - nav.offsetLeft - 40; // On a phone the pages are one line that scrolls.
}

function themes() {
  const chosen = localStorage.getItem('railguard.look') ?? '';
  const box = h('select', {onchange: () => { localStorage.setItem('railguard.look', box.value); look(); }},
    [['', 'as the system'], ['light', 'light'], ['dark', 'dark']].map(([key, text]) => {
      const option = h('option', null, text);
      option.value = key;
      option.selected = key === chosen;
      return option;
    }));
  return box;
}

function look() {
  const chosen = localStorage.getItem('railguard.look');
  if (chosen) document.documentElement.dataset.look = chosen;
  else delete document.documentElement.dataset.look;
}

function signInPage(why) {
  turn += 1;
  if (leave) leave();
  leave = null;
  header();
  for (const box of document.querySelectorAll('dialog')) box.remove();
  document.title = 'Sign in · Railguard';
  const said = h('div', {role: 'alert'}, why && h('p', {class: 'note'}, why));
  const key = h('input', {id: 'key', name: 'key', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true, maxlength: 256});
  const button = h('button', {class: 'primary', type: 'submit'}, 'Sign in');
  put(main, h('form', {class: 'signin', onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await api.signIn(key.value.trim());
      key.value = '';
      lastSeen = Date.now();
      show();
    } catch (error) {
      put(said, h('p', {class: 'note bad'}, error.status === 401 ? 'This key is not known, has expired, or may not be used from here.' : error.message));
      key.select();
    } finally {
      button.disabled = false;
    }
  }}, h('h1', null, 'Sign in'), said, h('div', {class: 'field'}, h('label', {for: 'key'}, 'API key'), key),
  h('p', {class: 'hint'}, 'The key is sealed into a cookie that no script can read. A session ends after a while without you, and when the browser closes.'), button));
  key.focus();
}

// A link within the console changes the page without loading the document again.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href^="/console/"]');
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  event.preventDefault();
  go(link.getAttribute('href'));
  window.scrollTo(0, 0);
});
window.addEventListener('popstate', show);
for (const sign of ['keydown', 'pointerdown']) document.addEventListener(sign, () => { lastSeen = Date.now(); }, {passive: true});

// The server ends an idle session. After that the page must show no data of it.
setInterval(async () => {
  const s = api.who();
  if (!s.signedIn || Date.now() - lastSeen < s.idleSeconds * 1000) return;
  await api.signOut().catch(() => {});
  signInPage('You were signed out because nothing happened for a while.');
}, 5000);

api.onEnded(signInPage);
look();
try {
  if (await api.resume()) show();
  else signInPage();
} catch (error) {
  signInPage(error.message);
}
