package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
	"go.etcd.io/bbolt"
)

// RaftOptions are the settings of one process of the base line with bare raft.
type RaftOptions struct {
	Listen string   // HTTP address that is asked to measure.
	Peers  []string // Raft addresses of all; the first is the one that leads.
	At     int      // Index of this process in Peers.
	Store  string   // "bolt" or "wal".
	Folder string
}

const (
	raftPool      = 3
	raftPatience  = 10 * time.Second
	raftLook      = 20 * time.Millisecond
	raftCallerMax = 4096
	raftBytesMax  = 1 << 20
)

// nothing is a state machine that does nothing.
type nothing struct{}

func (nothing) Apply(*raft.Log) any                 { return nil }
func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nothing{}, nil }
func (nothing) Restore(r io.ReadCloser) error       { return r.Close() }
func (nothing) Persist(s raft.SnapshotSink) error   { return s.Close() }
func (nothing) Release()                            {}

type logStore interface {
	raft.LogStore
	raft.StableStore
}

func openLogStore(kind, folder string) (logStore, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	switch kind {
	case "bolt":
		return raftboltdb.New(raftboltdb.Options{
			Path:        filepath.Join(folder, "raft.db"),
			BoltOptions: &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
		})
	case "wal":
		return wal.Open(folder)
	}
	return nil, fmt.Errorf("log store %q: want bolt or wal", kind)
}

// ServeRaft runs one of three processes that do nothing but hashicorp/raft. The first one leads,
// and measures itself when it is asked to.
func ServeRaft(ctx context.Context, o RaftOptions) error {
	if o.At < 0 || o.At >= len(o.Peers) {
		return fmt.Errorf("there is no peer %d of %d", o.At, len(o.Peers))
	}
	store, err := openLogStore(o.Store, o.Folder)
	if err != nil {
		return fmt.Errorf("log store: %w", err)
	}
	transport, err := raft.NewTCPTransport(o.Peers[o.At], nil, raftPool, raftPatience, io.Discard)
	if err != nil {
		return err
	}
	config := raft.DefaultConfig()
	config.LocalID = raft.ServerID(strconv.Itoa(o.At))
	config.Logger = hclog.NewNullLogger()
	config.NoLegacyTelemetry = true
	node, err := raft.NewRaft(config, nothing{}, store, store, raft.NewInmemSnapshotStore(), transport)
	if err != nil {
		return err
	}
	defer node.Shutdown()
	if o.At == 0 {
		var all raft.Configuration
		for i, address := range o.Peers {
			all.Servers = append(all.Servers, raft.Server{ID: raft.ServerID(strconv.Itoa(i)), Address: raft.ServerAddress(address)})
		}
		if err := node.BootstrapCluster(all).Error(); err != nil {
			return err
		}
	}
	server := &http.Server{ReadHeaderTimeout: raftPatience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			_, _ = w.Write([]byte("{}"))
			return
		}
		result, err := applyLoad(r.Context(), node, r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(result)
	})}
	return serveUntil(ctx, server, o.Listen)
}

// applyResult is what a leader measured of itself, in ms and calls a second.
type applyResult struct{ P50, P99, Rate float64 }

// applyLoad is a closed loop of raft.Apply in the leader's own process.
func applyLoad(ctx context.Context, node *raft.Raft, query url.Values) (*applyResult, error) {
	callers, _ := strconv.Atoi(query.Get("callers"))
	size, _ := strconv.Atoi(query.Get("bytes"))
	span, _ := time.ParseDuration(query.Get("span"))
	if callers < 1 || callers > raftCallerMax || size < 1 || size > raftBytesMax || span <= 0 || span > time.Minute {
		return nil, errors.New("callers, bytes and span are needed")
	}
	for deadline := time.Now().Add(raftPatience); node.State() != raft.Leader; time.Sleep(raftLook) { // The process may have lost the leadership for a moment.
		if ctx.Err() != nil || time.Now().After(deadline) {
			return nil, errors.New("not leading yet")
		}
	}
	begin := time.Now()
	recorder := newRecorder(begin)
	end := begin.Add(span)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for at := time.Now(); at.Before(end) && ctx.Err() == nil; at = time.Now() {
				e := event{due: at, sent: at}
				if err := node.Apply(make([]byte, size), raftPatience).Error(); err != nil {
					e.failure = err.Error()
				}
				e.done = time.Now()
				recorder.record(i, e)
			}
		})
	}
	all.Wait()
	o := recorder.sum(end)
	if o.failed > 0 || o.done == 0 {
		return nil, fmt.Errorf("%d applied, %v", o.done, o.errors)
	}
	return &applyResult{o.quantile(50), o.quantile(99), o.perSecond()}, nil
}

// trio is a running bare raft group.
type trio struct {
	store   string
	helpers []*helper
}

// startTrio starts three processes at the places in turn. The first one leads.
func (b *bench) startTrio(ctx context.Context, store string) (*trio, error) {
	t := &trio{store: store}
	tasks := make([]*task, 3)
	var peers []string
	for i := range tasks {
		addresses, err := b.places[i%len(b.places)].addresses(ctx, 2)
		if err != nil {
			return nil, err
		}
		tasks[i] = &task{Kind: taskRaft, Name: "raft-" + store + strconv.Itoa(i), Addresses: addresses, At: i, Store: store}
		peers = append(peers, addresses[1])
	}
	for i, work := range tasks {
		work.Peers = peers
		h, err := launchHelper(ctx, b.places[i%len(b.places)], work)
		if err != nil {
			t.close()
			return nil, err
		}
		t.helpers = append(t.helpers, h)
	}
	err := until(ctx, childPatient, func() bool {
		_, err := t.apply(ctx, 1, 64, 10*time.Millisecond)
		return err == nil
	})
	if err != nil {
		t.close()
		return nil, fmt.Errorf("bare raft on %s: %w", store, err)
	}
	return t, nil
}

func (t *trio) close() {
	for _, h := range t.helpers {
		h.close()
	}
}

func (t *trio) apply(ctx context.Context, callers, size int, span time.Duration) (*applyResult, error) {
	plain := newAPI("")
	plain.client.Timeout = 2 * time.Minute
	defer plain.client.CloseIdleConnections()
	var result applyResult
	query := url.Values{"callers": {strconv.Itoa(callers)}, "bytes": {strconv.Itoa(size)}, "span": {span.String()}}
	err := plain.ask(ctx, http.MethodPost, t.helpers[0].url+"/apply?"+query.Encode(), []byte("{}"), &result)
	return &result, err
}
