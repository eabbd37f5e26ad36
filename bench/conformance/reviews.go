package conformance

import (
	"fmt"
	"net/http"
	"sync"
)

var reviewChecks = []Check{
	{ID: "T113/race", Title: "of simultaneous dispositions on all nodes exactly one succeeds", Source: Implied, run: checkRace},
	{ID: "T117", Title: "notes are optional", Source: Literal, run: checkNotes},
}

func checkRace(p *probe) {
	for range 5 {
		_, txn := p.review()
		var mutex sync.Mutex
		statuses := map[int]int{}
		p.parallel(8, 8, func(i int) error {
			body := obj{"disposition": []string{"APPROVED", "REJECTED"}[i%2], "reviewedBy": fmt.Sprintf("officer %d", i)}
			a, err := p.send(p.ctx, http.MethodPost, "/v1/reviews/"+txn, body, node(i))
			if err != nil {
				return err
			}
			mutex.Lock()
			defer mutex.Unlock()
			statuses[a.status]++
			return nil
		})
		p.expect(statuses[200] == 1 && statuses[409] == 7, "eight simultaneous dispositions gave %v, want one 200 and seven 409", statuses)
	}
}

func checkNotes(p *probe) {
	_, txn := p.review()
	a := p.status(p.post("/v1/reviews/"+txn, obj{"disposition": "APPROVED", "reviewedBy": "officer"}), 200)
	p.same(a, "disposition", "APPROVED")
	_, txn = p.review()
	note := "line one\nline two \u2028 “quoted” \u0007"
	a = p.post("/v1/reviews/"+txn, obj{"disposition": "APPROVED", "reviewedBy": "officer", "notes": note})
	p.status(a, 200, 422)
	if a.ok() {
		p.same(a, "notes", note)
	}
}
