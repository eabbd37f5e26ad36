package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	gaugeEvery    = 2 * time.Second // Nodes set their gauges once a second.
	sizeCalls     = time.Second
	recordDefault = 450 // Bytes that are assumed for nodes whose log cannot be measured, because they are not ours.
)

// recordSize measures how many bytes one verdict puts into the log at one caller. Bare raft then
// applies records of the same size, so that both write the same.
func (b *bench) recordSize(ctx context.Context, t *target) (int, error) {
	if t.group == nil {
		b.report.Notes = append(b.report.Notes, fmt.Sprintf("bare raft applies %d bytes each: the nodes are not ours to ask what a verdict writes", recordDefault))
		return recordDefault, nil
	}
	leader, n, err := t.leader(ctx)
	if err != nil {
		return 0, err
	}
	before, err := n.logged(ctx)
	if err != nil {
		return 0, err
	}
	l := t.screening("what a verdict writes", []*endpoint{leader}, 1, 0, b.span(sizeCalls))
	l.warm = 0
	if err := b.warm(ctx, l); err != nil {
		return 0, err
	}
	select {
	case <-time.After(gaugeEvery):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := n.logged(ctx)
	if err != nil {
		return 0, err
	}
	records := after.records - before.records
	if records <= 0 || after.bytes <= before.bytes {
		return 0, errors.New("what a verdict writes is not known: the log did not grow as it should")
	}
	size := (after.bytes - before.bytes) / records
	b.add("cluster.record", "bytes", less, size)
	return int(size), nil
}

// logged is what a node says of its log.
type logged struct{ bytes, records float64 }

func (n *node) logged(ctx context.Context) (logged, error) {
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, n.admin+"/metrics", http.NoBody)
	if err != nil {
		return logged{}, err
	}
	response, err := n.group.quiet.client.Do(call)
	if err != nil {
		return logged{}, err
	}
	defer response.Body.Close()
	var l logged
	lines := bufio.NewScanner(io.LimitReader(response.Body, answerBytesMax))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		into := &l.bytes
		switch {
		case strings.HasPrefix(name, "railguard_cluster_log_bytes_since_snapshot"):
		case name == "railguard_cluster_records_applied_total":
			into = &l.records
		default:
			continue
		}
		if *into, err = strconv.ParseFloat(value, 64); err != nil {
			return logged{}, fmt.Errorf("metrics of %s: %w", n.id, err)
		}
	}
	return l, lines.Err()
}

// metric returns the value of a metric that a node shows, named with its labels.
func (n *node) metric(ctx context.Context, name string) (float64, error) {
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, n.admin+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := n.group.quiet.client.Do(call)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(io.LimitReader(response.Body, answerBytesMax)); lines.Scan(); {
		if at, value, _ := strings.Cut(lines.Text(), " "); at == name {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("metrics of %s: no %s", n.id, name)
}
