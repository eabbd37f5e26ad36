package casework

import (
	"time"

	"railguard/edge/parties"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/httpapi/border"
)

// Room is the state that calls about casework share: the index of whom this institution's records
// pay.
type Room struct {
	index *parties.Index
}

// indexMakesWay is how long a step of the index of parties makes way for verdicts. Whoever looks
// at a party waits for it.
const indexMakesWay = 2 * time.Second

// Open makes the room. Nothing is read before somebody looks.
func Open(front *border.Border, published border.Published, records border.Records) *Room {
	return &Room{index: parties.New(parties.Deps{
		History: func() parties.History { return records.Audit() },
		Fetch:   records.Leaf,
		Open:    front.Judges().OpenRecord,
		Now:     func() engine.Time { return published.LogTime() },
		Pace: func() func() {
			work := front.Scans.Pace.Begin(time.Now(), indexMakesWay)
			return work.Between
		},
	})}
}

// Close ends what the room does in the background.
func (b *Room) Close() { b.index.Close() }

// Table returns what the room gives the border.
func (b *Room) Table() border.Room {
	return border.Room{
		Public: border.ConcatRoutes(reviewRoutes(), proposalRoutes(), queueRoutes(), alertRoutes(), sarRoutes(), sanctionsRoutes(), activityRoutes(), ownerRoutes(), draftRoutes(), learningRoutes(), secondLookRoutes(), b.partyRoutes()),
		Renderers: map[string]border.Renderer{
			leaf.KindDispositioned: renderDisposition, leaf.KindProposed: renderProposal, leaf.KindWithdrawn: renderProposal,
			leaf.KindClaimed: renderQueueEvent, leaf.KindReleased: renderQueueEvent, leaf.KindAssigned: renderQueueEvent, leaf.KindCommented: renderQueueEvent,
			leaf.KindAcknowledged: renderAcknowledged, leaf.KindWorked: renderWorked, leaf.KindLookAnswered: renderLookAnswer, leaf.KindSARMoved: renderSARMoved, leaf.KindSanctionsMoved: renderCaseMoved,
			leaf.KindSAROpened: renderSAROpened, leaf.KindSARWritten: renderSARWritten, leaf.KindSanctionsOpened: renderCaseOpened,
			leaf.KindActProposed: renderAct, leaf.KindActWithdrawn: renderAct,
		},
	}
}
