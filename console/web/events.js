// This page shows events in words. Beside the words it shows the name of the event, which is
// also used by the feed of events, by webhooks and by the command line.

import {h} from './dom.js';

const words = {
  'act.lapsed': 'Proposal of an act lapsed', 'act.proposed': 'Act waits for a second person', 'act.withdrawn': 'Proposal of an act withdrawn',
  'agent.expired': 'Credential of an agent ended', 'agent.expiring': 'Credential of an agent ends soon', 'agent.model_changed': 'Agent runs on another model', 'agent.ownership_cancelled': 'Transfer of an agent taken back',
  'agent.ownership_effective': 'Transfer of an agent took effect', 'agent.ownership_flagged': 'Transfer of an agent announced', 'agent.registered': 'Agent registered', 'agent.registered_with_match': 'Agent registered, its name or wallet resembles a listed one',
  'agent.reinstated': 'Agent reinstated', 'agent.reissued': 'Credential of an agent issued anew', 'agent.retired': 'Agent retired', 'agent.revoked': 'Agent revoked', 'agent.settings': 'Settings of an agent changed', 'agent.suspended': 'Agent suspended', 'agent.whitelist': 'Whitelist of an agent changed',
  'alert.acknowledged': 'Alert acknowledged', 'alert.opened': 'Alert opened',
  'attestation.expiring': 'Attestation ends soon', 'attestation.recorded': 'Agent attested', 'attestation.stale': 'Attestation ended',
  'backup.drilled': 'Restore of a backup rehearsed', 'backup.schedule_changed': 'Schedule of backups changed', 'backup.taken': 'Backup taken and verified',
  'cleared.added': 'Pair cleared', 'cleared.expired': 'Cleared pair ended', 'cleared.removed': 'Cleared pair taken back',
  'fleet.assigned': 'Agent put into a fleet', 'fleet.created': 'Fleet created', 'fleet.limit_100': 'Fleet reached its daily limit', 'fleet.limit_80': 'Fleet spent 80 % of its daily limit', 'fleet.removed': 'Agent taken out of a fleet', 'fleet.retired': 'Fleet retired', 'fleet.updated': 'Fleet changed', 'fleet.whitelist': 'Whitelist of a fleet changed',
  'clock.confirmed': 'Time confirmed: log time may leap', 'format.raised': 'Format of the log raised',
  'payment.confirmed': 'Payment judged again before it is made', 'payment.redeemed': 'Leave for a payment taken',
  'hold.expired': 'Hold ended without a settlement', 'hold.late': 'Settled after its hold had ended', 'hold.over_limit': 'Settled above a limit', 'hold.released': 'Hold released', 'hold.settled': 'Payment settled', 'hold.unresolved': 'What became of a payment is not known; it counts', 'review.approval_lapsed': 'Approval ended unused',
  'key.created': 'API key created', 'key.signed_in': 'A person signed in', 'key.reinstated': 'A person may sign in again', 'key.expiring': 'API key ends soon', 'key.revoked': 'API key revoked', 'key.rotated': 'API key rotated', 'key.looked': 'Somebody looked', 'passkey.added': 'Passkey registered', 'passkey.removed': 'Passkey removed', 'person.ended': 'A person was ended: keys, sessions, passkeys', 'work.changed': 'Owner or comment of an item', 'key.sessions_ended': 'Sessions of an API key ended',
  'list.activated': 'Sanctions list put in force', 'list.staged': 'Sanctions list staged', 'list.stale': 'Sanctions list is too old', 'list.synced': 'Sanctions list asked for again', 'matcher.raised': 'Matcher raised',
  'operator.limit': 'Daily limit of an operator changed', 'operator.reinstated': 'Operator reinstated', 'operator.suspended': 'Operator suspended', 'policy.activated': 'Policy put in force', 'policy.whitelist': 'Whitelist of the institution changed',
  'reconciliation.done': 'Rail compared with the log',
  'retro.begun': 'Looking back began', 'retro.ended': 'Looking back ended', 'retro.hit': 'Looking back found a party',
  'review.assigned': 'Case assigned', 'review.claimed': 'Case claimed', 'review.commented': 'Comment on a case', 'review.dispositioned': 'Case decided', 'review.escalated': 'Case escalated', 'review.proposal_lapsed': 'Proposal lapsed: nobody confirmed it',
  'review.proposed': 'Decision proposed', 'review.released': 'Case given back', 'review.sla_breached': 'Case waited too long', 'review.withdrawn': 'Proposal withdrawn',
  'sanctions.blocked_again': 'Blocked again, though found not to be the party', 'sanctions.due_soon': 'Report of a sanctions case is due soon', 'sanctions.moved': 'Sanctions case moved on', 'sanctions.opened': 'Sanctions case opened', 'sanctions.overdue': 'Report of a sanctions case is overdue',
  'sar.due_soon': 'Report is due soon', 'sar.filed': 'Report filed', 'sar.moved': 'Report moved on', 'sar.narrative': 'Narrative of a report written', 'sar.opened': 'Report opened',
  'screen.block': 'Payment blocked', 'screen.proceed': 'Payment proceeds', 'screen.review': 'Payment waits for review', 'screen.unknown': 'Payment with an unknown credential',
  'second_look.answered': 'Second look answered', 'second_look.lapsed': 'Nobody answered a second look',
  'signing_key.active': 'Signing key signs from now on', 'signing_key.added': 'Signing key added', 'signing_key.revoked': 'Signing key revoked',
  'user.erased': 'Data of a user erased', 'user.registered': 'User registered', 'user.reinstated': 'User reinstated', 'user.reissued': 'Credential of a user issued anew', 'user.revoked': 'User revoked', 'user.suspended': 'User suspended',
  'webhook.changed': 'Webhook changed', 'webhook.dead_letter': 'Webhook gave up on an event',
};

/** eventWords is what happened, in words. */
export const eventWords = (type) => words[type] ?? type;

/** eventView is what happened in words, with the event's name as a detail. */
export const eventView = (type, detail) => [h('span', null, eventWords(type)), detail && h('span', {class: 'quiet'}, `: ${detail}`), words[type] && h('span', {class: 'event'}, type)];
