package chaos

// Shapes of clusters.
var (
	alone = shape{nodes: 1}
	three = shape{nodes: 3, wired: true}
	apart = shape{nodes: 3, apart: true}
	five  = shape{nodes: 5, wired: true}
)

// scenarios is every fault test, in the order in which a full run makes them. The ids C01 to C18
// are those of the statements about clusters.
var scenarios = []scenario{
	{id: "C01", statement: "a write sent to any node succeeds and shows on all", shape: three, rounds: 3, run: everyNodeWrites},
	{id: "C06", statement: "revoked at one node, the next call at another is R2", shape: three, rounds: 5, run: revokedEverywhere},
	{id: "C26", statement: "an API key revoked at one node gets no verdict at any", shape: three, rounds: 10, run: revokedKeys},
	{id: "C16", statement: "an Idempotency-Key replays on another node and after a failover", shape: three, rounds: 5, run: replaysAnywhere},
	{id: "N1", statement: "a limit of 1,000, 300 calls of 10 at once, the leader killed in the middle: exactly 100 PROCEED", shape: three, rounds: 30, run: overspend},
	{id: "N1/repeated", statement: "N1 as often as is asked for, the leader killed each time", shape: three, fresh: true, repeat: true, run: overspendManyTimes},
	{id: "C02", statement: "JWKS, health and local reads answer with the leader dead, and nothing is read out at a node that is cut off", shape: three, rounds: 5, run: readsWithoutLeader},
	{id: "C18", statement: "huge bodies, slow callers and idle connections do not hurt others", shape: three, run: hostileCallers},
	{id: "C10", statement: "a node cut off gives no verdict and heals by itself; the majority goes on", shape: three, rounds: 10, run: minorityIsSilent},
	{id: "C03", statement: "the leader killed under load: nothing lost or doubled, counters equal everywhere", shape: three, rounds: 10, run: failover},
	{id: "C05", statement: "state digests are equal on all nodes at equal indices", shape: three, rounds: 3, run: sameStates},
	{id: "C09", statement: "leadership transferred under load without errors, rolling restarts without more than one retry", shape: three, fresh: true, calm: true, rounds: 10, run: transfersAndRestarts},
	{id: "A3", statement: "every fault in turn under constant load", shape: three, fresh: true, rounds: 30, run: faultsUnderLoad},
	{id: "C10/apart", statement: "a node cut off, in network namespaces: no verdict there, the majority goes on, it heals by itself", shape: apart, rounds: 10, run: minorityIsSilent},
	{id: "A3/apart", statement: "every fault in turn under constant load, in network namespaces over real TCP that loses and delays packets", shape: apart, fresh: true, rounds: 20, run: faultsUnderLoad},
	{id: "A1", statement: "one node, kill -9 at random moments under load", shape: alone, fresh: true, rounds: 5, run: killAlone},
	{id: "C04", statement: "no overspend over the change of the UTC date", shape: three, fresh: true, rounds: 10, run: overspendAtMidnight},
	{id: "C04/skew", statement: "no overspend, and the right time, with a clock 5 minutes off that jumps, and UTC midnight in the middle", shape: three, fresh: true, calm: true, rounds: 20, run: wrongClock},
	{id: "C04/power", statement: "the power goes away and all clocks come up wrong: no verdict, no record lost, every node says why, and right clocks end it", shape: three, fresh: true, rounds: 2, run: powerWithWrongClocks},
	{id: "C07", statement: "list activation is atomic at one log index, and survives a restart", shape: three, fresh: true, rounds: 5, run: listSwitch},
	{id: "C07/delta", statement: "a newer list un-lists and lists what it should at one log index, under load; rolled back likewise", shape: three, fresh: true, rounds: 2, run: deltaOf(ownPair)},
	{id: "C07/published", statement: "the delta from the list of 2025-03-04 to that of 2025-03-21 is the golden one, under load, at one log index", shape: three, fresh: true, calm: true, rounds: 1, run: deltaOf(publishedPair)},
	{id: "C08", statement: "a follower far behind comes back without stopping the others", shape: three, fresh: true, rounds: 2, run: farBehind},
	{id: "C11", statement: "with a full disk the leader steps out loudly and the others go on", shape: three, fresh: true, rounds: 10, run: fullDisk},
	{id: "C11/stall", statement: "the leader's disk hangs for 8 seconds: another leads, and no process ends", shape: three, fresh: true, rounds: 10, run: stalledDisk},
	{id: "A5", statement: "three times as much as the cluster can do: the excess is turned away, the rest goes on", shape: three, fresh: true, calm: true, rounds: 2, run: overloaded},
	{id: "A4", statement: "a flipped bit on one disk is found and named; the others go on, the node is mended or joins again", shape: three, fresh: true, rounds: 10, run: rotten},
	{id: "C14", statement: "five nodes survive two losses and tell truthfully how many more", shape: five, fresh: true, rounds: 10, run: survivesLosses},
	{id: "C15", statement: "a lost node comes back by being started, a dead one is replaced by one verb", shape: three, fresh: true, rounds: 10, run: lostAndReplaced},
	{id: "C19", statement: "a removed node that is started again stays out, and the word of it ends no other", shape: three, fresh: true, rounds: 5, run: removedStaysOut},
	{id: "C20", statement: "no verb without force leaves a group that cannot commit", shape: three, fresh: true, rounds: 5, run: votesStay},
	{id: "C21", statement: "all disks low: reads go on, writes are refused by name, nobody leads in turn, room brings writes back", shape: three, fresh: true, rounds: 3, run: disksLow},
	{id: "C22", statement: "one diverged node beside one that restarts: it ends, the others go on", shape: three, fresh: true, rounds: 3, run: divergedBesideARestart},
	{id: "C23", statement: "held payments end once and count exactly, every event reaches a webhook, across killed leaders (with C24)", shape: three, fresh: true, rounds: 1, run: holdsAndWebhooks},
	{id: "C27", statement: "a stale copy of a member's folder changes nothing for the real one; nobody calls a dead member healthy", shape: three, fresh: true, rounds: 5, run: copiesChangeNothing},
	{id: "C28", statement: "all nodes replaced one after the other, each when status allows it: no quorum and no record is lost", shape: three, fresh: true, rounds: 5, run: replacedInTurn},
	{id: "C17", statement: "what is past its time is gone on all nodes at one index", shape: three, fresh: true, rounds: 3, run: retention},
}
