// This module says in words what became of the leave that an officer gave, and of a payment.

import {whenText, money} from './dom.js';

const not = {lapsed: 'the leave has ended', agent_status: 'the agent or its operator may not pay now', listed: 'the list names a party of it now', blocked: 'it would be blocked now', unknown: 'this node cannot tell'};

/** leaveWords says what an approval is worth now; bad marks what nobody may pay on. */
export function leaveWords({approval, confirmable, confirmableReason}) {
  if (!approval) return null;
  if (approval.state === 'redeemed') return {text: 'Its leave was taken.', bad: false};
  if (approval.state !== 'open') return {text: `Its leave ended, at the latest ${whenText(approval.until)}: it may not be paid.`, bad: true};
  if (confirmable) return {text: `Its leave is open until ${whenText(approval.until)}: it is confirmed before it is paid.`, bad: false};
  return {text: `It may not be paid now: ${not[confirmableReason] ?? confirmableReason}.`, bad: true};
}

const marks = {late: 'after its hold had ended', overLimit: 'above a limit', notAllowed: 'although it was not allowed', unpermitted: 'without its leave having been taken, which the policy wants'};

/** paymentWords says what became of a payment; bad marks what an officer has to look at. */
export function paymentWords(payment) {
  if (!payment) return null;
  const at = whenText(payment.time);
  const told = Object.keys(marks).filter((name) => payment[name]).map((name) => marks[name]);
  switch (payment.state) {
    case 'held': return {text: `Confirmed ${at}: ${payment.verdict ?? 'judged again'}.${payment.verdict === 'PROCEED' ? ' Its leave is not taken yet.' : ' That gave no leave.'}`, bad: false};
    case 'redeemed': return {text: `Redeemed ${at}: whoever took its leave may have paid. It counts until somebody settles or releases it.`, bad: false};
    case 'settled': return {text: `Settled ${at}: ${money(payment.amount)}${told.length ? `, ${told.join(', ')}` : ''}.`, bad: told.length > 0};
    case 'released': return {text: `Given back ${at}.`, bad: false};
    case 'expired': return {text: `Given back by itself ${at}.`, bad: false};
    case 'unresolved': return {text: `Nobody has said what became of it since ${at}; it counts.${payment.redeemed ? ' It was redeemed, so it may have been paid.' : ''}`, bad: true};
  }
  return {text: payment.state, bad: true};
}
