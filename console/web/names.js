// This module shows the name of a registered party in place of its id, and the id as the title
// of the element.

import {h, put} from './dom.js';
import * as api from './api.js';

const kinds = {agt: ['agents', (x) => x.agentName], flt: ['fleets', (x) => x.fleetName], usr: ['users', (x) => x.legalName ?? x.userName]};
const most = 2000; // Names remembered.
let asked = new Map(); // Id to the promise of a name; null: it has none that this key may see.
let told = new Map(); // Id to a name that is known.
let by = ''; // The key that asked: another one must not be shown what this one saw.

function ask(id) {
  const key = api.who().key.keyId;
  if (by !== key || asked.size > most) {
    by = key;
    asked = new Map();
    told = new Map();
  }
  if (!asked.has(id)) {
    const [path, read] = kinds[id.slice(0, 3)];
    asked.set(id, api.maybe(`/${path}/${id}`, {poll: true}).then((x) => {
      const name = (x && read(x)) || null;
      if (name && by === key) told.set(id, name);
      return name;
    }).catch(() => null));
  }
  return asked.get(id);
}

/** partyLink leads to an agent, a fleet or a user, and is called as it is as soon as that is known. name: where the answer has it. */
export function partyLink(id, name) {
  const kind = kinds[id?.slice(0, 3)];
  if (!kind) return id ?? '–';
  const link = h('a', {href: `/console/${kind[0]}/${id}`, title: id}, name ?? id);
  if (!name) ask(id).then((found) => { if (found) put(link, found); });
  if (!name && told.has(id)) put(link, told.get(id));
  return link;
}
