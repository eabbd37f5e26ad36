package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"railguard/cluster/recorder"
)

// recorderSpan is how far back the doctor reads recorders.
const recorderSpan = time.Hour

// checkRecorder reads the flight recorder of a node, if the key may.
func (d *doctor) checkRecorder(ctx context.Context, address string) {
	one := d.client
	one.admin, one.at = []string{address}, 0
	data, err := one.fetchAnswer(ctx, &call{method: http.MethodGet, path: "/admin/debug", admin: true})
	r := &recorder.Report{}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		d.addFinding("recorder "+hostOf(address), levelOK, "", "not looked at: %v", err) // It needs the role ops, and a node that serves.
		return
	}
	d.tellRecorder(r)
}

// tellRecorder says what of the last hour is worth a look.
func (d *doctor) tellRecorder(r *recorder.Report) {
	since := r.Now - recorderSpan.Milliseconds()
	stalls, lost, refused := 0, 0, uint64(0)
	for i := range r.Entries {
		e := &r.Entries[i]
		switch {
		case e.At < since:
		case e.Kind == recorder.Stall && e.TookMs > 0:
			stalls++
		case e.Kind == recorder.Lost:
			lost++
		case e.Kind == recorder.Refused && isOutage(e.Code):
			refused += e.Count
		}
	}
	var parts []string
	add := func(count uint64, what string) {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, what))
		}
	}
	add(uint64(stalls), "stalls of the disk")
	add(uint64(lost), "times it lost the leadership")
	add(refused, "calls that the service could not answer")
	if len(parts) == 0 {
		d.addFinding("recorder "+r.Node, levelOK, "", "nothing in the last hour that is worth a look")
		return
	}
	d.addFinding("recorder "+r.Node, levelWarn, "tell it: railguard debug", "in the last hour: %s", strings.Join(parts, ", "))
}
