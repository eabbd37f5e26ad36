// The acts for which a policy can demand two persons, or a passkey, in words.

const names = {
  disposition: 'decide a review', 'policy.widen': 'let through what was stopped before', twoPersons: 'demand two persons, or passkeys, for less', 'list.activate': 'put an uploaded list in force',
  'list.force': 'put a list in force against a failed check', 'list.rollback': 'go back to an older list', 'key.create': 'make a key or renew its secret', 'clock.confirm': 'let log time leap to the clocks', clear: 'clear a pair', 'sar.move': 'end a report', 'sanctions.close': 'end a sanctions case',
  licence: 'put a licence in force', overrides: 'override (nothing is done under this name yet)', 'person.end': 'end a person', policy: 'change the policy in any way', second: 'confirm what another person proposed',
};

/** actWords is what an act is called in words. */
export const actWords = (name) => names[name] ?? name;
