// This page shows the policy in force and what each setting does. For an edit it shows, before
// the edit is put in force, what it means in words and what it would have changed. It also shows
// who put which version in force.

import {h, put, badge, when, table, field, toast, facts} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';
import {changes, settings, valueOf, ruleName, pathWords} from './policywords.js';
import {askBacktest, askShadow} from './foresight.js';
import {lines} from './lines.js';
import {showWhitelist} from './whitelist.js';

const linesView = (before, after) => h('ol', {class: 'diff', 'aria-label': 'Line by line'}, lines(before, after).map(([kind, text]) => h('li', {class: kind}, h('span', {'aria-hidden': 'true'}, kind === 'plus' ? '+ ' : kind === 'minus' ? '− ' : '  '), kind && h('span', {class: 'unseen'}, kind === 'plus' ? 'added: ' : 'removed: '), text)));
const pretty = (document) => JSON.stringify(document, null, 2);
export const words = (list) => (list.length === 0 ? h('p', {class: 'quiet'}, 'Nothing: it says what is in force.') : h('ul', {class: 'words'}, list.map((x) => h('li', null, x.text))));

// The present edit. It is kept until the document is loaded again or the edit is in force, so
// that it is not lost when the officer looks at a backtest. It belongs to the version from which
// it was made and to the key that made it.
let draft = null;

/** drafted is the text to begin with: of a trial that the address names, else the edit, else what is in force. */
async function drafted(now) {
  const from = new URLSearchParams(location.search).get('from');
  if (from) {
    const job = await api.call(`${from.startsWith('shd_') ? '/policy/shadow' : '/backtests'}/${encodeURIComponent(from)}`).catch(() => null);
    if (job?.policy) return {text: pretty(job.policy), from};
    return {text: pretty(now.policy ?? {}), lost: from};
  }
  return draft?.version === now.policyVersion && draft.key === api.who().key.keyId ? {text: draft.text} : {text: pretty(now.policy ?? {})};
}

function parse(text) {
  try {
    const document = JSON.parse(text);
    if (document === null || typeof document !== 'object' || Array.isArray(document)) return {error: 'The policy must be an object.'};
    return {document};
  } catch (error) {
    return {error: `Not JSON: ${error.message}`};
  }
}

export async function showPolicy(place, _params, go) {
  const redraw = () => showPolicy(place, _params, go);
  const [now, versions, acts] = await Promise.all([api.call('/policy'), api.maybe(`/policy/versions${api.query({limit: 20})}`), api.maybe(`/activity${api.query({types: 'policy.activated', limit: 20})}`)]);
  const inForce = pretty(now.policy ?? {});
  const begin = await drafted(now);
  const edit = h('textarea', {rows: Math.min(24, Math.max(8, begin.text.split('\n').length + 3)), class: 'code', spellcheck: 'false', value: begin.text, maxlength: 200000});
  const told = h('div', {'aria-live': 'polite', id: 'told'});
  const verdict = h('div', {'aria-live': 'polite', id: 'verdict'});
  const mayTry = api.may('policy', 'reviewer');

  function tell() {
    draft = edit.value === inForce ? null : {text: edit.value, version: now.policyVersion, key: api.who().key.keyId};
    const {document, error} = parse(edit.value);
    put(verdict);
    put(told, h('h3', null, 'What your edit changes'), error ? h('p', {class: 'note bad'}, error) : words(changes(now.policy ?? {}, document)));
  }
  let timer = null;
  edit.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(tell, 300);
  });

  /** check asks whether the document would be taken; null: it would not. */
  async function check() {
    tell();
    const {document, error} = parse(edit.value);
    if (error) return null;
    const said = await api.call('/policy/validate', {method: 'POST', body: document}).catch((e) => ({valid: false, errors: [{param: e.body?.param, message: e.message}]}));
    const wider = said.widens ?? [];
    put(verdict, said.valid ? h('p', {class: 'note good'}, 'This document is valid.') : h('div', {class: 'note bad'}, h('p', null, 'This document is refused:'), h('ul', null, (said.errors ?? []).map((e) => h('li', null, `${e.param ? `${e.param}: ` : ''}${e.message}`)))),
      said.valid && wider.length > 0 && h('p', {class: 'note warn'}, `It lets through what was stopped before: ${wider.map(pathWords).join(', ')}.`),
      said.valid && edit.value !== inForce && h('details', null, h('summary', null, 'Line by line'), linesView(inForce, pretty(document))));
    return said.valid ? {document, wider} : null;
  }

  const after = (then) => async () => {
    const good = await check();
    if (good) await then(good);
  };

  async function activate({document, wider}) {
    const list = changes(now.policy ?? {}, document);
    const why = h('textarea', {rows: 3, required: true, maxlength: 8192});
    ask({title: 'Put this policy in force?', word: 'Put in force', kind: 'warn', draft: 'policy:reason', body: [h('p', {class: 'action'}, `It replaces version ${now.policyVersion} for every payment from now on.`), words(list),
      wider.length > 0 && h('p', {class: 'note warn'}, `It lets through what was stopped before: ${wider.map(pathWords).join(', ')}.`),
      h('p', {class: 'quiet'}, begin.from ? ['What it would have changed: ', h('a', {href: `/console/foresight/${begin.from.startsWith('shd_') ? 'shadows' : 'backtests'}/${begin.from}`, onclick: (e) => e.target.closest('dialog')?.close()}, begin.from), '.'] : 'Nobody tried it against the past: Cancel, and look at what it would have changed.'),
      field('Why (obligatory)', why)], act: async (_form, post) => {
      await post('/policy', {policy: document, reason: why.value.trim()}, 'PUT', now.policyVersion).catch((error) => {
        if (error.status === 412) throw new Error(`Somebody put another policy in force meanwhile (version ${error.body.currentVersion}). Your edit stays here; open the page again and compare.`);
        throw error;
      });
      draft = null;
      toast('The policy is in force.');
      if (begin.from) go('/console/policy');
      else redraw();
    }});
  }

  const failed = (e) => toast(e.message, 'bad');
  const buttons = h('div', {class: 'actions left'}, h('button', {type: 'button', id: 'check', onclick: () => check().catch(failed)}, 'Check'),
    h('button', {type: 'button', id: 'backtest', class: 'primary', onclick: () => after(({document}) => askBacktest(go, document))().catch(failed)}, 'What would it have changed? …'),
    h('button', {type: 'button', id: 'shadow', onclick: () => after(({document}) => askShadow(go, document))().catch(failed)}, 'Try beside the verdicts …'),
    api.may('policy') && h('button', {type: 'button', id: 'activate', class: 'warn', onclick: () => after(activate)().catch(failed)}, 'Put in force …'),
    h('button', {type: 'button', id: 'discard', onclick: () => { edit.value = inForce; tell(); edit.focus(); }}, 'Back to what is in force'));

  const whitelist = h('section', {class: 'card', id: 'whitelist'});
  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Policy'), h('span', {class: 'quiet'}, `version ${now.policyVersion}, rule set ${now.ruleSet}`)),
    begin.from && h('p', {class: 'note'}, 'The document of ', h('a', {href: `/console/foresight/${begin.from.startsWith('shd_') ? 'shadows' : 'backtests'}/${begin.from}`}, begin.from), ', to be edited or put in force.'),
    begin.lost && h('p', {class: 'note warn'}, `${begin.lost} is not remembered by any node any more. What is in force stands here.`),
    h('div', {class: 'columns'}, h('div', null,
      h('section', {class: 'card'}, h('h2', null, 'The document'), h('p', {class: 'quiet'}, 'What is left out is the default.'), mayTry ? [field('Policy as JSON', edit), told, verdict, buttons] : h('pre', {tabindex: '0'}, inForce)),
      settingsView(now)),
    h('div', null, versions && versionsView(versions.data, acts?.data ?? []), modesView(now), whitelist)));
  tell();
  await showWhitelist(whitelist);
  return () => clearTimeout(timer);
}

/** settingsView is the whole policy, the defaults shown. */
function settingsView(now) {
  return h('section', {class: 'card'}, h('h2', null, 'Every setting'), table('Settings of the policy', ['Setting', 'In force', '', 'What it does'], settings.map((x) => {
    const v = valueOf(now.policy ?? {}, x);
    return [h('span', null, x.label, h('br'), h('span', {class: 'mono quiet path'}, x.path)), v.words, v.set ? badge('set') : h('span', {class: 'quiet'}, 'default'), x.what];
  })));
}

function modesView(now) {
  return h('section', {class: 'card'}, h('h2', null, 'Rules'), h('p', {class: 'quiet'}, 'review stops the payment for a person, shadow only notes, off is silent, block stops it. The rules that block by themselves cannot be switched.'),
    table('Modes of the rules', ['Rule', 'Mode'], Object.entries(now.modes ?? {}).map(([rule, mode]) => [ruleName(rule), mode === 'review' ? mode : h('strong', null, mode)])),
    facts([['Institution’s whitelist', `${now.whitelist?.mode ?? 'off'}, ${now.whitelist?.entryCount ?? 0} entries`]]));
}

/** versionsView tells who put which version in force, when, and what it changed. */
function versionsView(versions, acts) {
  const who = (v) => {
    const act = acts.find((x) => x.data?.policyVersion === v.policyVersion);
    return act?.actor ?? act?.actorKeyName ?? v.actorKeyId ?? '–';
  };
  return h('section', {class: 'card'}, h('h2', null, 'Versions'), versions.length === 0 ? h('p', {class: 'quiet'}, 'The defaults: nobody put a policy in force yet.') :
    h('ol', {class: 'comments'}, versions.map((v, i) => h('li', null, h('strong', null, `Version ${v.policyVersion}`), ' ', when(v.activatedAt), ' by ', who(v), v.reason && h('q', null, v.reason),
      h('details', null, h('summary', null, `What version ${v.policyVersion} changed`), i + 1 < versions.length || versions.length < 20 ? words(changes(versions[i + 1]?.policy ?? {}, v.policy ?? {})) : h('p', {class: 'quiet'}, 'The version before is not in this list.'))))));
}
