// The policy as a document: what is set, what is the default, what an edit changes.

import {h, put, badge, when, table, field, dialog, toast, facts, ruleShort, ruleWords} from './dom.js';
import * as api from './api.js';
import {officer} from './decide.js';

const settings = {
  rules: 'Mode of a rule: review stops the payment for a person, shadow only notes, off is silent. The rules that block cannot be switched.',
  velocity: 'How many payments a minute and an hour any agent may make (rule R16).', operatingHours: 'When payments are usual (rule R17).', attestation: 'Above which amount an autonomous agent needs an attestation (rule R22).',
  names: 'How near a name must be to be asked about (rule R21) or blocked (R7).', requireCounterparty: 'Whether a payment must name whom it goes to.', allowedCounterpartyTypes: 'Which types may be paid (rule R20).',
  counterpartyCaps: 'Limits by type of counterparty.', ofac: 'How old the list may be.', structuring: 'How many payments below a limit look like one cut in pieces (rule R25).', registration: 'What happens when a listed operator registers.', retro: 'What happens when a new list names somebody who is registered.',
  review: 'Notes that are obligatory, two officers, clocks of the queue.', retro: 'What a new list does to payments already made.',
};

/** lines compares two documents line by line. */
export function lines(before, after) {
  const a = before.split('\n');
  const b = after.split('\n');
  const best = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) for (let j = b.length - 1; j >= 0; j -= 1) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(['', a[i]]);
      i += 1;
      j += 1;
    } else if (j < b.length && (i === a.length || best[i][j + 1] >= best[i + 1][j])) {
      out.push(['plus', b[j]]);
      j += 1;
    } else {
      out.push(['minus', a[i]]);
      i += 1;
    }
  }
  return out;
}

const diffView = (before, after) => h('ol', {class: 'diff'}, lines(before, after).map(([kind, text]) => h('li', {class: kind}, h('span', {'aria-hidden': 'true'}, kind === 'plus' ? '+ ' : kind === 'minus' ? '− ' : '  '), kind && h('span', {class: 'unseen'}, kind === 'plus' ? 'added: ' : 'removed: '), text)));
const pretty = (document) => JSON.stringify(document, null, 2);

export async function showPolicy(place) {
  const redraw = () => showPolicy(place);
  const [now, versions] = await Promise.all([api.call('/policy'), api.maybe(`/policy/versions${api.query({limit: 20})}`)]);
  const text = pretty(now.policy ?? {});
  const edit = h('textarea', {rows: 22, class: 'code', spellcheck: 'false', value: text, maxlength: 200000});
  const verdict = h('div', {'aria-live': 'polite'});
  const mayChange = api.may('policy');

  async function check() {
    let parsed;
    try {
      parsed = JSON.parse(edit.value);
    } catch (error) {
      put(verdict, h('p', {class: 'note bad'}, `Not JSON: ${error.message}`));
      return null;
    }
    const said = await api.call('/policy/validate', {method: 'POST', body: parsed}).catch((error) => ({valid: false, errors: [{param: error.body?.param, message: error.message}]}));
    const wider = said.widens ?? [];
    put(verdict, said.valid ? h('p', {class: 'note good'}, 'This document is valid.') : h('div', {class: 'note bad'}, h('p', null, 'This document is refused:'), h('ul', null, (said.errors ?? []).map((e) => h('li', null, typeof e === 'string' ? e : `${e.param ?? ''}: ${e.message}`)))),
      said.valid && Array.isArray(wider) && wider.length > 0 && h('p', {class: 'note warn'}, `It lets through what was stopped before: ${wider.map((w) => (typeof w === 'string' ? w : w.param ?? JSON.stringify(w))).join(', ')}. That needs a reason.`),
      said.valid && diffView(text, pretty(parsed)));
    return said.valid ? parsed : null;
  }

  async function put1() {
    const parsed = await check();
    if (!parsed) return;
    const why = h('textarea', {rows: 3, required: true, maxlength: 8192});
    dialog('Put this policy in force?', [h('p', {class: 'action'}, `It replaces version ${now.policyVersion} for every payment from now on.`), h('p', {class: 'quiet'}, 'What it would have changed among past payments is told by a backtest: railguard backtest run --policy FILE --from TIME.'), diffView(text, pretty(parsed)), field('Why (obligatory)', why)], 'Put in force', 'warn', async () => {
      await api.call('/policy', {method: 'PUT', body: {policy: parsed, reason: why.value.trim()}, headers: {'If-Match': `"${now.policyVersion}"`}}).catch((error) => {
        if (error.status === 412) throw new Error(`Somebody put another policy in force meanwhile (version ${error.body.currentVersion}). Load the page again.`);
        throw error;
      });
      toast('The policy is in force.');
      redraw();
    });
  }

  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Policy'), h('span', {class: 'quiet'}, `version ${now.policyVersion}, rule set ${now.ruleSet}`)),
    h('div', {class: 'columns'}, h('div', null, h('section', {class: 'card'}, h('h2', null, 'The document'), h('p', {class: 'quiet'}, 'What is left out is the default.'), mayChange ? [field('Policy as JSON', edit), h('div', {class: 'actions left'}, h('button', {type: 'button', onclick: check}, 'Check and compare'), h('button', {type: 'button', class: 'warn', onclick: put1}, 'Put in force …')), verdict] : h('pre', {tabindex: '0'}, text)),
      versions && h('section', {class: 'card'}, h('h2', null, 'Versions'), table('Versions of the policy', ['Version', 'When', 'By', 'Why'], versions.data.map((v) => [String(v.policyVersion ?? v.version), when(v.time ?? v.at ?? v.putAt), v.actor ?? v.by ?? v.actorKeyId ?? '–', v.reason ?? '–'])))),
    h('div', null, h('section', {class: 'card'}, h('h2', null, 'Modes in force'), table('Modes of the rules', ['Rule', 'Mode'], Object.entries(now.modes ?? {}).map(([rule, mode]) => [`${ruleShort(rule)} ${ruleWords(rule)}`, mode === 'review' ? mode : h('strong', null, mode)])), facts([['Institution’s whitelist', `${now.whitelist?.mode ?? 'off'}, ${now.whitelist?.entryCount ?? 0} entries`]])),
      h('section', {class: 'card'}, h('h2', null, 'What each setting does'), h('dl', null, Object.entries(settings).map(([name, what]) => [h('dt', null, h('strong', {class: 'mono'}, name), ' ', name in (now.policy ?? {}) ? badge('set') : badge('default')), h('dd', null, what)]))))));
}
