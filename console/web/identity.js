// This module puts side by side what a payment says of its counterparty and what a list says of an
// entry, so that an officer sees at once what agrees and what differs.

import {h} from './dom.js';

const regions = new Intl.DisplayNames(['en'], {type: 'region', fallback: 'none'});

/** countryWords is a country in words beside what was said: "Jordan (JO)". */
export function countryWords(text) {
  const code = text?.trim().toUpperCase();
  const name = code && /^[A-Z]{2}$/.test(code) ? regions.of(code) : undefined;
  return name && name !== code ? `${name} (${code})` : text;
}

// OFAC's programmes by their codes. A code that is not here is shown as it is.
const programmes = {
  'BALKANS': 'Western Balkans', 'BALKANS-EO14033': 'Western Balkans, stability', 'BELARUS': 'Belarus', 'BELARUS-EO14038': 'Belarus', 'BPI-PA': 'Patriot Act, blocked pending investigation', 'BURMA-EO14014': 'Burma', 'CAATSA - IRAN': 'Iran, CAATSA', 'CAATSA - RUSSIA': 'Russia, CAATSA',
  'CAR': 'Central African Republic', 'CMIC-EO13959': 'Chinese military-industrial companies', 'CUBA': 'Cuba', 'CYBER2': 'Malicious cyber activity', 'CYBER3': 'Malicious cyber activity', 'CYBER4': 'Malicious cyber activity', 'DARFUR': 'Darfur', 'DPRK': 'North Korea', 'DPRK2': 'North Korea', 'DPRK3': 'North Korea', 'DPRK4': 'North Korea', 'DPRK-NKSPEA': 'North Korea, Sanctions and Policy Enhancement Act',
  'DRCONGO': 'Democratic Republic of the Congo', 'ELECTION-EO13848': 'Interference in elections', 'ETHIOPIA-EO14046': 'Ethiopia', 'FSE-IR': 'Foreign sanctions evaders, Iran', 'FSE-SY': 'Foreign sanctions evaders, Syria', 'FTO': 'Foreign terrorist organizations', 'GLOMAG': 'Human rights abuse and corruption (Global Magnitsky)', 'HIFPAA': 'Hizballah International Financing Prevention Act', 'HK-EO13936': 'Hong Kong', 'HOSTAGES-EO14078': 'Hostages and wrongful detention',
  'HRIT-IR': 'Human rights abuse by technology, Iran', 'HRIT-SY': 'Human rights abuse by technology, Syria', 'IFCA': 'Iran Freedom and Counter-Proliferation Act', 'IFSR': 'Iranian Financial Sanctions Regulations', 'ILLICIT-DRUGS-EO14059': 'Illicit drugs', 'IRAN': 'Iran', 'IRAN-CON-ARMS-EO': 'Iran, conventional arms', 'IRAN-EO13846': 'Iran', 'IRAN-EO13871': 'Iran, metals', 'IRAN-EO13876': 'Iran, Supreme Leader', 'IRAN-EO13902': 'Iran, sectors', 'IRAN-HR': 'Iran, human rights', 'IRAN-TRA': 'Iran Threat Reduction Act', 'IRAQ2': 'Iraq', 'IRAQ3': 'Iraq', 'IRGC': 'Islamic Revolutionary Guard Corps', 'ISA': 'Iran Sanctions Act',
  'LEBANON': 'Lebanon', 'LIBYA2': 'Libya', 'LIBYA3': 'Libya', 'MAGNIT': 'Magnitsky, Russia', 'MALI-EO13882': 'Mali', 'NICARAGUA': 'Nicaragua', 'NICARAGUA-NHRAA': 'Nicaragua', 'NPWMD': 'Weapons of mass destruction', 'NS-PLC': 'Palestinian Legislative Council', 'PAARSSR-EO13894': 'Syria, peace and stability', 'PEESA-EO14039': 'Russian energy export pipelines', 'RUSSIA-EO14024': 'Russia, harmful foreign activities', 'RUSSIA-EO14065': 'Regions of Ukraine',
  'SDGT': 'Terrorism (specially designated global terrorists)', 'SDNT': 'Drug traffickers', 'SDNTK': 'Drug kingpins', 'SOMALIA': 'Somalia', 'SOUTH SUDAN': 'South Sudan', 'SSIDES': 'Russia, sectors', 'SUDAN-EO14098': 'Sudan', 'SYRIA': 'Syria', 'SYRIA-CAESAR': 'Syria, Caesar Act', 'SYRIA-EO13894': 'Syria', 'TCO': 'Transnational criminal organizations', 'UKRAINE-EO13660': 'Ukraine', 'UKRAINE-EO13661': 'Ukraine, Russian officials', 'UKRAINE-EO13662': 'Ukraine, Russian sectors', 'UKRAINE-EO13685': 'Crimea',
  'VENEZUELA': 'Venezuela', 'VENEZUELA-EO13692': 'Venezuela', 'VENEZUELA-EO13850': 'Venezuela, sectors', 'VENEZUELA-EO13884': 'Venezuela, government', 'YEMEN': 'Yemen', 'ZIMBABWE': 'Zimbabwe',
};

/** programmeWords are programmes in words beside their codes. */
export const programmeWords = (codes) => (codes ?? []).map((code) => (programmes[code] ? `${programmes[code]} (${code})` : code)).join('; ');

const agreement = /^(date of birth|country|address) (agrees|differs)/;
const valuesOf = (facts, ...kinds) => [...new Set(facts.filter((f) => kinds.includes(f.kind)).map((f) => f.value))];
const many = (values) => (values.length > 3 ? `${values.slice(0, 3).join('; ')} and ${values.length - 3} more` : values.join('; '));

/** comparedOf says which facts agree and which differ: as the record keeps it, or, of a name that is only asked for, as the words say. */
const comparedOf = (match, context) => new Map(match.compared ? match.compared.map((fact) => [fact.what, fact.agrees ? 'agrees' : 'differs'])
  : context.map((text) => agreement.exec(text)).filter(Boolean).map(([, what, how]) => [what, how]));

/** rowsOf are what of identity either side tells: [what, in the payment, on the list, agrees, differs or '']. */
export function rowsOf(match, record, facts, context) {
  const q = match.party === 'counterparty' || !match.party ? record?._request ?? {} : {};
  const said = comparedOf(match, context);
  const countries = valuesOf(facts, 'nationality', 'citizenship').map(countryWords);
  return [
    ['Date of birth', q.cpDateOfBirth, many(valuesOf(facts, 'date of birth')), said.get('date of birth')],
    ['Country', [countryWords(q.cpCountry), q.cpRegion].filter(Boolean).join(', '), many(countries), said.get('country')],
    ['Address', q.cpAddress, many(valuesOf(facts, 'address')), said.get('address')],
    ['Kind', q.cpType, match.type, undefined],
  ].filter(([, asked, listed]) => asked || listed);
}

/** verdictOf says of a row whether the two sides agree: never by its colour alone. */
const verdictOf = (asked, listed, how) => (how ? h('strong', {class: how}, how) : h('span', {class: 'quiet'}, !asked ? 'the payment does not say' : !listed ? 'the list does not say' : ''));

/** compared is the table of both sides. first are the cells of the names. */
export function compared(first, rows, list) {
  return h('table', {class: 'compare'}, h('caption', {class: 'unseen'}, 'What the payment says beside what the list says'),
    h('thead', null, h('tr', null, ['', 'In this payment', `On the ${list} list`, ''].map((head) => (head ? h('th', {scope: 'col'}, head) : h('td'))))),
    h('tbody', null, h('tr', null, h('th', {scope: 'row'}, first[0]), first.slice(1).map((cell) => h('td', null, cell))),
      rows.map(([what, asked, listed, how]) => h('tr', null, h('th', {scope: 'row'}, what), h('td', null, asked || '–'), h('td', null, listed || '–'), h('td', null, verdictOf(asked, listed, how))))));
}

/** differing says in one line what of the first hit differs and what agrees; '' where nothing can be compared. */
export function differing(record) {
  const hit = (record.matches ?? []).find((m) => m.outcome !== 'clear');
  const said = [...comparedOf(hit ?? {}, [])];
  const of = (how) => said.filter(([, x]) => x === how).map(([what]) => what);
  const parts = [of('differs').length > 0 && `differs: ${of('differs').join(', ')}`, of('agrees').length > 0 && `agrees: ${of('agrees').join(', ')}`].filter(Boolean);
  return parts.join(' · ');
}

