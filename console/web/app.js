// The frame around all pages: it knows who is signed in and chooses the page for the address.
// A page is one row of pages; its group says where the navigation has it.

import {h, put, say} from './dom.js';
import * as api from './api.js';
import {showInbox} from './inbox.js';
import {showParties, showParty} from './party.js';
import {showSearch, finder} from './search.js';
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
import {showLearning} from './learning.js';
import {showLook} from './look.js';

import {showPeople} from './people.js';
import {showPasskeys} from './passkeys.js';
import {shortcuts, setShortcuts} from './settings.js';
import {keys, help} from './keys.js';
import {navigation} from './nav.js';
import {flush} from './drafts.js';

const reader = ['reviewer', 'auditor'];
const pages = [
  {path: '', title: 'Overview', show: showOverview, roles: ['operator', 'screener', 'reviewer', 'auditor', 'policy', 'ops']},
  {path: 'inbox', group: 'Work', title: 'Inbox', show: showInbox, roles: reader, whole: true},
  {path: 'queue', group: 'Work', title: 'Queue', show: showQueue, roles: reader},
  {path: 'case/:id', group: 'Work', title: 'Case', show: showCase, hidden: true},
  {path: 'alerts', group: 'Work', title: 'Alerts', show: showAlerts, roles: reader, whole: true},
  {path: 'reports', group: 'Work', title: 'Reports', show: showReports, roles: reader, whole: true},
  {path: 'sanctions', group: 'Work', title: 'Sanctions', show: showSanctions, roles: reader, whole: true},
  {path: 'sanctions/:id', title: 'Sanctions case', show: showSanctionsCase, hidden: true, roles: reader, whole: true},
  {path: 'look/:id', group: 'Work', title: 'Second look', show: showLook, hidden: true, roles: reader, whole: true},
  {path: 'proposals', group: 'Work', title: 'Proposals', show: showProposals, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'party', group: 'Parties', title: 'Parties', show: showParties, roles: reader, whole: true},
  {path: 'party/:id', group: 'Parties', title: 'Party', show: showParty, hidden: true, roles: reader, whole: true},
  {path: 'agents', group: 'Parties', title: 'Agents', show: showAgents, roles: ['operator', 'reviewer', 'auditor', 'policy']},
  {path: 'agents/:id', title: 'Agent', show: showAgent, hidden: true},
  {path: 'fleets', group: 'Parties', title: 'Fleets', show: showFleets, roles: ['operator', 'reviewer', 'auditor', 'policy']},
  {path: 'fleets/:id', title: 'Fleet', show: showFleet, hidden: true},
  {path: 'users', group: 'Parties', title: 'Users', show: showUsers, roles: ['operator', 'reviewer', 'auditor', 'policy']},
  {path: 'users/:id', title: 'User', show: showUsers, hidden: true},
  {path: 'operators', group: 'Parties', title: 'Operators', show: showOperators, roles: ['operator', 'reviewer', 'auditor', 'policy']},
  {path: 'lists', group: 'Lists', title: 'Lists', show: showLists, roles: ['policy', 'ops', 'reviewer', 'auditor'], whole: true},
  {path: 'lists/:id', title: 'List', show: showList, hidden: true, roles: ['policy', 'ops', 'reviewer', 'auditor'], whole: true},
  {path: 'match', group: 'Lists', title: 'Match', show: showMatch, roles: ['reviewer', 'policy', 'auditor']},
  {path: 'cleared', group: 'Lists', title: 'Cleared pairs', show: showCleared, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'policy', group: 'Rules', title: 'Policy', show: showPolicy, roles: ['operator', 'reviewer', 'auditor', 'policy'], whole: true},
  {path: 'foresight', group: 'Rules', title: 'Foresight', show: showForesight, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'foresight/backtests/:id', title: 'Backtest', show: showBacktest, hidden: true, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'foresight/shadows/:id', title: 'Shadow', show: showShadow, hidden: true, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'foresight/retro/:id', title: 'Retro-screening', show: showRetro, hidden: true, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'playground', group: 'Rules', title: 'Playground', show: showPlayground, roles: ['policy', 'reviewer']},
  {path: 'activity', group: 'History', title: 'Activity', show: showActivity, roles: ['operator', 'screener', 'reviewer', 'auditor', 'ops', 'policy']},
  {path: 'search', group: 'History', title: 'Search', show: showSearch, roles: reader, whole: true},
  {path: 'learning', group: 'History', title: 'Learning', show: showLearning, roles: ['reviewer', 'auditor', 'policy'], whole: true},
  {path: 'cluster', group: 'System', title: 'Cluster', show: showCluster, roles: ['ops'], whole: true},
  {path: 'people', group: 'System', title: 'People', show: showPeople, roles: ['admin'], whole: true},
  {path: 'passkeys', group: 'System', title: 'Passkeys', show: showPasskeys, roles: ['reviewer', 'policy'], whole: true},
];

const main = document.getElementById('main');
const head = document.getElementById('head');
let leave = null;
let turn = 0;
let lastSeen = Date.now();
let toldAt = 0; // When the server was told that the person is here.
const tellEvery = 30000; // Milliseconds.

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
    if (error.code === 'second_look_in_hand') { // Whoever has one in hand is shown nothing else.
      go(`/console/look/${error.body.lookId}`);
      return;
    }
    put(main, h('h1', null, error.status === 404 ? 'Not found' : 'This did not work'), h('p', {class: 'note bad'}, error.message),
      h('button', {onclick: show}, 'Try again'));
  }
}

/** mayFind tells whether the key may search from every page. */
const mayFind = () => allowed(pages.find((page) => page.path === 'search'));

function header(current) {
  if (!api.who().signedIn) {
    put(head, h('span', {class: 'brand'}, 'Railguard'));
    return;
  }
  const key = api.who().key;
  put(head, h('a', {class: 'brand', href: '/console/'}, 'Railguard'),
    navigation(pages.filter(allowed), current),
    mayFind() && finder(go),
    h('details', {class: 'menu'}, h('summary', null, key.name || key.keyId), h('div', null,
      h('p', null, `Roles: ${key.roles.join(', ')}`), key.owner && h('p', null, `Owner: ${key.owner}`),
      h('label', null, h('input', {type: 'checkbox', checked: shortcuts(), onchange: (e) => setShortcuts(e.target.checked)}), ' Keyboard shortcuts'),
      h('label', null, 'Look ', themes()),
      h('button', {onclick: () => leaveSession()}, 'Sign out'),
      h('button', {type: 'button', class: 'small', onclick: help}, 'Keys', h('kbd', null, '?')))));
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

/** leaveSession saves what is written and ends the session. */
async function leaveSession(why) {
  await flush().catch(() => {}); // What is not saved stays in the page, for the same person alone.
  try {
    await api.signOut();
    signInPage(why);
  } catch (error) {
    signInPage(`You are signed out here. Other sessions of your key may go on: ${error.message}`);
  }
}

/** whyNot is why the identity provider's answer let nobody in. */
const whyNot = {
  state: 'This answer belongs to no sign-in that was begun in this tab. Begin again.', late: 'That took too long. Begin again.', refused: 'The identity provider did not sign you in.',
  code: 'The identity provider does not take this sign-in any more. Begin again.', provider_down: 'The identity provider does not answer. Try again in a minute, or use an API key.',
  token: 'What the identity provider said could not be believed. Nobody was signed in.', no_role: 'You are known, but none of your groups has a role here. Ask whoever runs this service.',
  ended: 'Your access was ended here. An admin can reinstate you.', used: 'This sign-in was used already. Begin again.', full: 'There is no room for another person.', busy: 'This node cannot sign you in now. Try again in a minute.',
};

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
      here();
      flush().catch(() => {}); // What this person wrote before, if the server has it not.
      show();
    } catch (error) {
      put(said, h('p', {class: 'note bad'}, error.status === 401 ? 'This key is not known, has expired, or may not be used from here.' : error.message));
      key.select();
    } finally {
      button.disabled = false;
    }
  }}, h('h1', null, 'Sign in'), said, api.byProvider() && h('p', {class: 'provider'}, h('a', {class: 'button primary', href: '/console/signin/oidc', target: '_self'}, 'Sign in with your organisation')),
  h('div', {class: 'field'}, h('label', {for: 'key'}, 'API key'), key),
  h('p', {class: 'hint'}, 'The key is sealed into a cookie that no script can read. A session ends after a while without you, and when the browser closes.'), button));
  key.focus();
}

keys({'/': () => document.getElementById('find')?.focus(), '?': () => { if (api.who().signedIn) help(); }});

// A link within the console changes the page without loading the document again.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href^="/console/"]');
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  event.preventDefault();
  go(link.getAttribute('href'));
  window.scrollTo(0, 0);
});
window.addEventListener('popstate', show);
const seenAt = 'railguard.seen'; // When the person was seen last, in any tab of this browser.

/** here notes that the person is here. Who types without asking for anything is here too, and the server is told so. */
function here() {
  lastSeen = Date.now();
  localStorage.setItem(seenAt, String(lastSeen));
  if (!api.who().signedIn || lastSeen - toldAt < tellEvery) return;
  toldAt = lastSeen;
  api.alive().catch(() => {});
}

for (const sign of ['keydown', 'pointerdown', 'input']) document.addEventListener(sign, here, {passive: true});

// The server ends an idle session. After that the page must show no data of it.
setInterval(() => {
  const s = api.who();
  if (!s.signedIn || Date.now() - Math.max(lastSeen, Number(localStorage.getItem(seenAt)) || 0) < s.idleSeconds * 1000) return;
  leaveSession('You were signed out because nothing happened for a while. What you wrote is kept.');
}, 5000);

api.onEnded(signInPage);
look();
try {
  const asked = new URLSearchParams(location.search).get('signin');
  if (asked) history.replaceState(null, '', location.pathname);
  if (await api.resume()) show();
  else signInPage(asked && (whyNot[asked] ?? 'Nobody was signed in.'));
} catch (error) {
  signInPage(error.message);
}
