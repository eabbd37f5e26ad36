// This module says in words which member of a call hit, and what a country or region was read from.

const members = {cpName: 'the counterparty’s name', cpWallet: 'the counterparty’s wallet', payerWallet: 'the wallet that pays', cpCountry: 'the counterparty’s country', cpRegion: 'the counterparty’s region', cpAddress: 'the counterparty’s address',
  originCountry: 'the country from which the payment was asked for', memo: 'the memo', operator: 'the operator', user: 'the user of the credential', walletsElsewhere: 'a wallet in another member of the call'};

/** fieldWords is a member of the call in words: cpIdentifiers[1].country, wallets[0]. The member stands behind them. */
export function fieldWords(member, q = {}) {
  const identifier = /^cpIdentifiers\[(\d)\](?:\.(value|country))?$/.exec(member ?? '');
  if (identifier) {
    const type = Array.isArray(q.cpIdentifiers) ? q.cpIdentifiers[Number(identifier[1])]?.type : undefined;
    return `${identifier[2] === 'country' ? 'the country of ' : ''}the counterparty’s identifier ${Number(identifier[1]) + 1}${type ? ` (${type})` : ''}`;
  }
  const wallet = /^wallets\[(\d)\]$/.exec(member ?? '');
  if (wallet) return `wallet ${Number(wallet[1]) + 1} of the payment${q.wallets?.[Number(wallet[1])]?.role ? ` (${q.wallets[Number(wallet[1])].role})` : ''}`;
  return members[member] ?? member ?? '';
}

const alike = (a, b) => typeof a === 'string' && typeof b === 'string' && a.trim().toLowerCase() === b.trim().toLowerCase();

/** fieldOf is the member of the record's call to which a match belongs. */
export function fieldOf(match, record) {
  const q = record._request ?? {};
  if (match.member) return match.member;
  if (['memo', 'operator', 'user'].includes(match.party)) return match.party;
  if (!match.wallet) return match.party === 'counterparty' ? 'cpName' : match.party;
  const own = match.party === 'payer' ? ['payerWallet'] : match.party === 'counterparty' ? ['cpWallet'] : [];
  const roles = match.party === 'counterparty' ? ['payee'] : [match.party];
  const told = [...own.map((name) => ({name, address: q[name], role: roles[0]})), ...(q.wallets ?? []).map((w, i) => ({...w, name: `wallets[${i}]`}))].filter((w) => w.address && roles.includes(w.role));
  const exact = told.find((w) => alike(w.address, match.wallet));
  if (exact || !record.walletsElsewhere) return (exact ?? told[0])?.name ?? 'walletsElsewhere'; // One that is not alike is written in another way than the list does.
  return 'walletsElsewhere';
}

/** said is what the call says in a member. */
export function said(member, q = {}) {
  const listed = /^(cpIdentifiers|wallets)\[(\d)\](?:\.(value|country))?$/.exec(member ?? '');
  if (!listed) return q[member];
  const item = Array.isArray(q[listed[1]]) ? q[listed[1]][Number(listed[2])] : undefined;
  return listed[1] === 'wallets' ? item?.address : item?.[listed[3] ?? 'value'];
}

/** askedOf is what of a record was compared with a match: a name of the call, or of who answers for it. */
export function askedOf(match, record) {
  const field = fieldOf(match, record);
  return field === 'operator' ? record.operatorLegalName : field === 'user' ? record.userName : said(field, record._request ?? {}) ?? match.wallet;
}

const outcomes = {blocked: 'an embargoed place', reviewed: 'a place that the policy reviews', doubtful: 'perhaps an embargoed place', unread: 'no country that can be read', exempt: 'an embargoed place that a licence lets pass'};

/** outcomeWords is what a place does to a payment. */
export const outcomeWords = (outcome) => outcomes[outcome] ?? outcome;

/** placeSentence says which member names the place that decided; '' where none did. */
export function placeSentence(record) {
  const decided = (record.places ?? []).find((p) => (record.verdict === 'BLOCK' ? p.outcome === 'blocked' : p.outcome !== 'exempt'));
  if (!decided) return '';
  const text = said(decided.member, record._request);
  return `${fieldWords(decided.member, record._request).replace(/^./, (c) => c.toUpperCase())}${text ? `, “${text}”,` : ''} is ${decided.read ? `${decided.read}: ${outcomeWords(decided.outcome)}` : outcomeWords(decided.outcome)}.`;
}
