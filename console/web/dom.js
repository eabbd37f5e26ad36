// This module makes elements without markup. Text never becomes HTML, and Trusted Types enforce
// that.

const SVG = 'http://www.w3.org/2000/svg';

// A name may hold controls of direction, and letters that run from right to left. The controls are
// shown as their escapes, and such letters stand apart, so that no name can rearrange a sentence.
const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const rightward = /([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc](?:[^A-Za-z0-9]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc])*)/;

/** visible writes the controls of direction of a text as their escapes. */
export const visible = (text) => text.replace(turning, (sign) => `\\u${sign.codePointAt(0).toString(16).padStart(4, '0')}`);

const aside = (text) => document.createElement('bdi').appendChild(document.createTextNode(text)).parentNode;

/** shown is a child as an element shows it. */
function shown(element, child) {
  if (typeof child !== 'string' || element.localName === 'textarea') return child;
  const parts = visible(child);
  if (element.namespaceURI === SVG || element.localName === 'option') return parts;
  return parts.split(rightward).map((part, i) => (i % 2 ? aside(part) : part));
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else if (name === 'checked' || name === 'disabled' || name === 'open') element[name] = value;
    else element.setAttribute(name, value === true ? '' : name === 'title' || name === 'aria-label' ? visible(String(value)) : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).flatMap((child) => shown(element, child)));
  return element;
}

/** h makes an HTML element: h('p', {class: 'x'}, 'text', child). */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** s makes an SVG element. */
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export const put = (place, ...children) => place.replaceChildren(...children.flat(Infinity).filter(Boolean).flatMap((child) => shown(place, child)));

/** say tells a screen reader what changed. */
export function say(text) {
  document.getElementById('said').textContent = visible(text);
}

/** toast shows, and says, what was done. */
export function toast(text, kind = 'good') {
  const box = h('div', {class: `toast ${kind}`}, text);
  document.body.append(box);
  say(text);
  setTimeout(() => box.remove(), 6000);
}

const dollars = new Intl.NumberFormat('en-US', {style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumFractionDigits: 6});
export const money = (n) => (n === null || n === undefined ? 'not set' : dollars.format(n));
export const count = (n) => (n === null || n === undefined ? '–' : n.toLocaleString('en-US'));

/** party is a name, or a wallet shortened in the middle. */
export const party = (name, wallet) => name ?? (wallet?.length > 20 ? h('span', {class: 'mono', title: wallet}, `${wallet.slice(0, 8)}…${wallet.slice(-6)}`) : wallet ?? '–');

const clock = new Intl.DateTimeFormat('en-GB', {dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC'});
export const when = (text) => (text ? h('time', {datetime: text, title: text}, `${clock.format(new Date(text))} UTC`) : 'never');
export const whenText = (text) => (text ? `${clock.format(new Date(text))} UTC` : 'never');

/** endOf is the last moment of a day, which a filter until that day takes in. */
export const endOf = (day) => day && `${day}T23:59:59.999Z`;

export function age(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 3570) return `${Math.round(seconds / 60)} min`;
  if (seconds < 5400) return `${Math.floor((seconds + 30) / 3600)} h${Math.floor((seconds + 30) / 60) % 60 ? ` ${Math.floor((seconds + 30) / 60) % 60} min` : ''}`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** due counts down to when a case is due, in words; the cluster's time at which it was told may differ from this machine's. */
export function due(item) {
  if (!item?.slaDueAt) return null;
  const span = h('span', {class: 'due', 'data-due': String(Date.now() + Date.parse(item.slaDueAt) - Date.parse(item.screenedAt) - item.ageSeconds * 1000), title: whenText(item.slaDueAt)});
  count1(span);
  return span;
}

function count1(span) {
  const left = (Number(span.dataset.due) - Date.now()) / 1000;
  const kind = left < 0 ? 'late' : left < 3600 ? 'soon' : '';
  span.className = `due ${kind}`;
  const text = left < 0 ? `overdue by ${age(-left)}` : `due in ${age(left)}`;
  if (span.textContent !== text) put(span, text);
}

setInterval(() => { for (const span of document.querySelectorAll('[data-due]')) count1(span); }, 5000);

export const ruleShort = (rule) => (rule ? rule.split('_')[0] : '');
export const ruleWords = (rule) => (rule ? rule.split('_').slice(1).join(' ').toLowerCase().replace('tx', 'transaction').replace('ofac', 'OFAC') : '');

/** badge is a word with a colour: never the colour alone. */
export function badge(word) {
  const kinds = {
    PROCEED: 'good', APPROVED: 'good', ACTIVE: 'good', ok: 'good', CLEAR: 'good', REVIEW: 'warn', BLOCK: 'bad', REJECTED: 'bad', REVOKED: 'bad',
    SUSPENDED: 'bad', ESCALATE_SAR: 'bad', UNKNOWN: 'warn', EXPIRED: 'warn', claimed: 'warn', stale: 'bad', unreachable: 'bad', leader: 'good', overdue: 'bad', proposed: 'warn', FILED: 'good', OPEN: 'warn', TRUE_MATCH: 'bad', NOT_THE_PARTY: 'plain', REPORTED: 'good', READY: 'warn',
    'in force': 'good', void: 'warn', running: 'warn', done: 'good', failed: 'bad', set: 'good',
  };
  return h('span', {class: `badge ${kinds[word] ?? 'plain'}`}, word === 'ESCALATE_SAR' ? 'ESCALATED' : word);
}

/** table is a table with a caption for those who do not see it. */
export function table(caption, heads, rows) {
  if (rows.length === 0) return h('p', {class: 'quiet'}, 'Nothing here.');
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption}, h('table', null,
    h('caption', {class: 'unseen'}, caption),
    h('thead', null, h('tr', null, heads.map((head) => h('th', {scope: 'col'}, head)))),
    h('tbody', null, rows.map((cells) => h('tr', null, cells.map((cell, i) => h(i === 0 ? 'th' : 'td', i === 0 ? {scope: 'row'} : null, cell)))))));
}

/** facts is a list of name and value. */
export const facts = (pairs) => h('dl', {class: 'facts'}, pairs.filter((p) => p && p[1] !== undefined).map(([name, value]) => [
  h('dt', null, name), h('dd', null, value === null || value === '' ? '–' : value)]));

/** bar is a spend bar that says its figures. */
export function bar(label, used, held, limit) {
  const share = limit > 0 ? Math.min(100, (100 * used) / limit) : 0;
  const heldShare = limit > 0 ? Math.min(100 - share, (100 * (held ?? 0)) / limit) : 0;
  const text = limit === null || limit === undefined ? `${money(used)} spent, no limit` :
    `${money(used)} of ${money(limit)}${held ? `, ${money(held)} held` : ''}`;
  return h('div', {class: 'bar'}, h('div', {class: 'barhead'}, h('span', null, label), h('span', null, text)),
    s('svg', {viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true', class: share + heldShare > 90 ? 'full' : ''},
      s('rect', {class: 'track', width: 100, height: 6}), s('rect', {class: 'used', width: share, height: 6}),
      s('rect', {class: 'held', x: share, width: heldShare, height: 6})));
}

let fields = 0;

/** field is a labelled input; its value is read by name from the form. */
export function field(label, input, hint) {
  const id = `f${(fields += 1)}`;
  input.id = id;
  if (hint) input.setAttribute('aria-describedby', `${id}h`);
  return h('div', {class: 'field'}, h('label', {for: id}, label), input, hint && h('p', {class: 'hint', id: `${id}h`}, hint));
}

export const select = (name, options, value) => h('select', {name}, options.map((o) => {
  const [key, text] = Array.isArray(o) ? o : [o, o];
  const option = h('option', null, text);
  option.value = key;
  option.selected = key === value;
  return option;
}));

/** wanting names the first field that a form cannot go without, and puts the focus there. */
function wanting(form, alert) {
  const blank = (e) => e.required && e.type !== 'checkbox' && e.value.trim() === '';
  const missing = [...form.elements].find((e) => e.willValidate && (blank(e) || !e.validity.valid));
  if (!missing) return false;
  const label = form.querySelector(`label[for="${missing.id}"]`)?.textContent.replace(' (obligatory)', '') ?? '';
  put(alert, h('p', {class: 'note bad'}, missing.dataset.want ?? (blank(missing) ? `“${label}” is empty.` : `${label}: ${missing.validationMessage}`)));
  missing.setAttribute('aria-invalid', 'true');
  missing.addEventListener('input', () => missing.removeAttribute('aria-invalid'), {once: true});
  missing.focus();
  return true;
}

/** dialog asks before something is done. body may be a list; on(form) does it, throws to stay open, and may return
 *  what is to be done once the box is closed: behind it nothing can take the focus. */
export function dialog(title, body, word, kind, on) {
  const before = document.activeElement;
  const alert = h('div', {role: 'alert', class: 'alerts'});
  const id = `d${(fields += 1)}`;
  const go = h('button', {class: kind, type: 'submit'}, word);
  const form = h('form', {method: 'dialog', novalidate: true}, h('h2', {id}, title), body, alert,
    h('div', {class: 'actions'}, h('button', {type: 'button', onclick: () => box.close()}, 'Cancel'), go));
  const box = h('dialog', {'aria-labelledby': id}, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    put(alert);
    if (wanting(form, alert)) return;
    go.disabled = true;
    try {
      const after = await on(form);
      box.close();
      await after?.();
    } catch (error) {
      if (error.proposal) {
        box.close();
        toast(error.message, 'warn');
        return;
      }
      put(alert, error.shown ?? h('p', {class: 'note bad'}, error.message));
    } finally {
      go.disabled = false;
    }
  });
  box.addEventListener('close', () => {
    box.remove();
    if (before?.isConnected) before.focus();
    else if (document.activeElement === document.body) document.getElementById('main').focus({preventScroll: true});
  });
  document.body.append(box);
  box.showModal();
  return box;
}
