package rulebook

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"railguard/edge/retrace"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// The node that runs a job keeps it, and its id names the node: any other node asks that
// one. The node that was called checks the caller's rights; nodes trust each other.

// Relay carries questions about state that only one node has in memory.
type Relay interface {
	Others() []string                                                                 // The other members' names.
	Ask(ctx context.Context, node string, question []byte) (answer []byte, err error) // An empty answer means that the other node has none.
	Answer(do func(ctx context.Context, question []byte) []byte)                      // Sets the function that answers other nodes' questions.
}

// jobPatience is how long to wait for another node's answer about jobs.
const jobPatience = 2 * time.Second

// Questions about jobs.
const (
	jobShow = "show"
	jobStop = "stop"
	jobList = "list"
)

// jobQuestion is a question about jobs from another node, as JSON.
type jobQuestion struct {
	Verb string       `json:"verb"`
	Kind retrace.Kind `json:"kind"`
	ID   string       `json:"id,omitempty"`
}

// answerJob answers a question about this node's jobs; nil: no job has that id. A list is a
// JSON array of the jobs' objects.
func (b *Room) answerJob(q *jobQuestion) []byte {
	if q.Verb == jobList {
		var all [][]byte
		for _, job := range b.Jobs.Jobs(q.Kind) {
			var m strictjson.Members
			b.writeJob(&m, job, false)
			all = append(all, m.Body())
		}
		return append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']')
	}
	job := b.Jobs.Job(q.Kind, q.ID)
	if job == nil {
		return nil
	}
	if q.Verb == jobStop {
		b.Jobs.Stop(job)
	}
	var m strictjson.Members
	b.writeJob(&m, job, true)
	return m.Body()
}

// writeJob writes a job, with the name of the key that started it: people know keys by
// name.
func (b *Room) writeJob(m *strictjson.Members, job *retrace.Job, whole bool) {
	job.Write(m, whole)
	m.TextOrNull("createdByName", border.KeyName(b.deps.Published.Settings().Keys, job.Order.By))
}

// answerRelayed answers another node.
func (b *Room) answerRelayed(_ context.Context, question []byte) []byte {
	var q jobQuestion
	if json.Unmarshal(question, &q) != nil {
		return nil
	}
	return b.answerJob(&q)
}

// askJob asks the node that a job's id names.
func (b *Room) askJob(c *border.Request, q jobQuestion) ([]byte, error) {
	unknown := border.NotFound("no such job: its node keeps the newest 16 that have ended, and loses all with its data folder")
	node := retrace.NodeOf(q.Kind, q.ID)
	if node == c.NodeName() {
		if answer := b.answerJob(&q); answer != nil {
			return answer, nil
		}
		return nil, unknown
	}
	relay := b.deps.Relay
	if relay == nil || !slices.Contains(relay.Others(), node) {
		return nil, unknown
	}
	answer, err := askNode(c.Context(), relay, node, q)
	if err != nil {
		c.Log().Debug("a node was not asked about its jobs", "node", node, "error", err)
		return nil, border.Unavailable("node_away", "the node "+node+", which alone keeps this job, does not answer: ask again when it is back; if it never comes back, begin the job anew at another")
	}
	if len(answer) == 0 {
		return nil, unknown
	}
	return answer, nil
}

func askNode(ctx context.Context, relay Relay, node string, q jobQuestion) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, jobPatience)
	defer cancel()
	question, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	return relay.Ask(ctx, node, question)
}

// askAllJobs returns the jobs of all nodes, each node's newest first, and the names of
// nodes that could not be asked.
func (b *Room) askAllJobs(c *border.Request, kind retrace.Kind) (items []strictjson.Members, silent []string) {
	q := jobQuestion{Verb: jobList, Kind: kind}
	items, silent = readJobs(b.answerJob(&q)), []string{}
	relay := b.deps.Relay
	if relay == nil {
		return items, silent
	}
	for _, node := range relay.Others() {
		answer, err := askNode(c.Context(), relay, node, q)
		if err != nil {
			silent = append(silent, node)
			continue
		}
		items = append(items, readJobs(answer)...)
	}
	return items, silent
}

// readJobs splits a list of jobs.
func readJobs(answer []byte) []strictjson.Members {
	items := []strictjson.Members{}
	var raw []json.RawMessage
	if json.Unmarshal(answer, &raw) != nil {
		return items
	}
	for _, job := range raw {
		items = append(items, strictjson.Members(job[1:len(job)-1]))
	}
	return items
}
