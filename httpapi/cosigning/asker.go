package cosigning

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"railguard/audit/note"
	"railguard/audit/witness"
	"railguard/cluster/report"
)

const (
	// WitnessesMax bounds the witnesses of a cluster.
	WitnessesMax = 16
	// EveryMin is the shortest time between two rounds.
	EveryMin = time.Second
	// DefaultTimeout is how long a witness may take to answer.
	DefaultTimeout = 5 * time.Second
)

// Witness is one witness to ask.
type Witness struct {
	URL  string // Submission prefix, http or https.
	Keys string // Verifier keys, one a line: of Ed25519, of ML-DSA-44, or both.
}

// Name returns the witness's name, from its key.
func (w *Witness) Name() string {
	name, _, _ := strings.Cut(w.Keys, "+")
	return name
}

// ParseWitnesses reads settings, each "URL KEY" or "URL KEY KEY".
func ParseWitnesses(settings []string) ([]Witness, error) {
	var all []Witness
	var keys strings.Builder
	for _, text := range settings {
		words := strings.Fields(text)
		if len(words) != 2 && len(words) != 3 {
			return nil, fmt.Errorf("%q: want the witness's URL and its verifier keys, one or two, with spaces between", text)
		}
		at, err := url.Parse(words[0])
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.RawQuery != "" || at.Fragment != "" || at.User != nil {
			return nil, fmt.Errorf("%q: not an http or https address", words[0])
		}
		own := strings.Join(words[1:], "\n") + "\n"
		if err := note.CheckCosigners(own); err != nil {
			return nil, fmt.Errorf("witness %s: %w", words[0], err)
		}
		for _, key := range words[1:] {
			if name, _, _ := strings.Cut(key, "+"); !strings.HasPrefix(words[1], name+"+") {
				return nil, fmt.Errorf("witness %s: its keys have two names", words[0])
			}
		}
		keys.WriteString(own)
		all = append(all, Witness{URL: words[0], Keys: own})
	}
	if len(all) > WitnessesMax {
		return nil, fmt.Errorf("%d witnesses; at most %d", len(all), WitnessesMax)
	}
	if len(all) > 0 {
		if err := note.CheckCosigners(keys.String()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Policy says which witnesses must have cosigned a checkpoint: a C2SP tlog-policy.
type Policy = note.Policy

// ParsePolicy reads a policy, and returns its witnesses, which are to be asked. Each must have a URL.
// Two keys under one name and URL are one witness's.
func ParsePolicy(text string) (*Policy, []Witness, error) {
	p, err := note.ParsePolicy(text)
	if err != nil {
		return nil, nil, err
	}
	var all []Witness
	for _, w := range p.Witnesses() {
		at := slices.IndexFunc(all, func(known Witness) bool { return known.URL == w.URL && known.Name() == w.Name })
		if at >= 0 {
			all[at].Keys += w.Key + "\n"
			continue
		}
		if w.URL == "" {
			return nil, nil, fmt.Errorf("the witness %s has no URL to ask it at", w.Name)
		}
		all = append(all, Witness{URL: w.URL, Keys: w.Key + "\n"})
	}
	settings := make([]string, len(all))
	for i, w := range all {
		settings[i] = w.URL + " " + strings.Join(strings.Fields(w.Keys), " ")
	}
	all, err = ParseWitnesses(settings)
	return p, all, err
}

// Head is a signed checkpoint.
type Head struct {
	Size   uint64
	Time   int64 // Log time of the signature, in nanoseconds.
	Signed []byte
}

// Config is what an asker needs.
type Config struct {
	Witnesses []Witness
	Policy    *Policy       // If set, only what meets its quorum is published.
	Every     time.Duration // Time between the beginnings of two rounds; at least EveryMin.
	Timeout   time.Duration // Time limit for one witness; 0: DefaultTimeout.
	Leads     func() bool   // Whether this node leads; only the leader asks.
	Head      func(ctx context.Context) (Head, error)
	Path      func(from, to uint64) ([][]byte, error) // Returns a consistency proof.
	Publish   func(report.Cosigned)
	Count     func(cosigned bool) // Called for each answer, or missing answer.
	Logger    *slog.Logger
}

// Asker asks the witnesses in rounds, from Start to Stop.
type Asker struct {
	config Config
	peers  []*peer
	stop   context.CancelFunc
	done   chan struct{}
	newest atomic.Pointer[round]
	short  atomic.Pointer[string] // Why the last round met no quorum; nil: it did, or there was none.
}

// round is what witnesses answered to one head.
type round struct {
	size     uint64
	answered int // How many witnesses signed it.
}

// peer is a witness with the outcome of the last round.
type peer struct {
	witness.Peer
	name   string
	failed atomic.Pointer[string] // Why the last request failed; nil: it succeeded, or there was none.
}

// New makes an asker. It does nothing before Start.
func New(config Config) *Asker {
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	a := &Asker{config: config, done: make(chan struct{})}
	client := &http.Client{
		Timeout:       config.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, w := range config.Witnesses {
		a.peers = append(a.peers, &peer{Peer: witness.Peer{URL: w.URL, Keys: w.Keys, HTTP: client}, name: w.Name()})
	}
	return a
}

// Start begins the rounds, if there are witnesses.
func (a *Asker) Start() {
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	if len(a.peers) == 0 {
		close(a.done)
		return
	}
	go a.run(ctx)
}

// Stop ends the rounds, and waits until the current one has stopped.
func (a *Asker) Stop() {
	if a.stop == nil {
		return
	}
	a.stop()
	<-a.done
}

func (a *Asker) run(ctx context.Context) {
	defer close(a.done)
	ticker := time.NewTicker(max(a.config.Every, EveryMin))
	defer ticker.Stop()
	for {
		if a.config.Leads() {
			a.Round(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Round asks every witness once about the newest checkpoint.
func (a *Asker) Round(ctx context.Context) {
	head, err := a.config.Head(ctx)
	if err != nil || head.Size == 0 {
		return // The cluster is not bootstrapped or the node catches up, so the next round tries again.
	}
	if last := a.newest.Load(); last != nil && last.size == head.Size && last.answered == len(a.peers) {
		return // Nothing is new.
	}
	lines := make([][]string, len(a.peers))
	var all sync.WaitGroup
	for i, p := range a.peers {
		all.Go(func() { lines[i] = a.ask(ctx, p, &head) })
	}
	all.Wait()
	cosigned, answered := report.Cosigned{Size: head.Size, Time: head.Time}, 0
	for _, own := range lines {
		cosigned.Lines = append(cosigned.Lines, own...)
		if len(own) > 0 {
			answered++
		}
	}
	if a.isShort(&head, cosigned.Lines) || answered == 0 {
		return // The previous cosigned checkpoint stays.
	}
	a.newest.Store(&round{head.Size, answered})
	a.config.Publish(cosigned)
}

// isShort reports whether signature lines under a head are too few for the policy. It is logged when
// that begins.
func (a *Asker) isShort(head *Head, lines []string) bool {
	if a.config.Policy == nil {
		return false
	}
	err := a.config.Policy.Check(note.WithLines(head.Signed, lines...))
	if err == nil {
		a.short.Store(nil)
		return false
	}
	why := err.Error()
	if a.short.Swap(&why) == nil {
		a.config.Logger.Warn("too few witnesses cosign: the last checkpoint that enough of them signed stays", "error", err)
	}
	return true
}

// Short says why the last round that this node asked for met no quorum; "" if it did.
func (a *Asker) Short() string {
	if why := a.short.Load(); why != nil {
		return *why
	}
	return ""
}

// Policy is the policy that published checkpoints meet; nil: none.
func (a *Asker) Policy() *Policy { return a.config.Policy }

// ask returns a witness's signature lines, one for each of its keys; none if it does not sign.
func (a *Asker) ask(ctx context.Context, p *peer, head *Head) (lines []string) {
	ctx, cancel := context.WithTimeout(ctx, a.config.Timeout)
	defer cancel()
	found, err := p.Ask(ctx, head.Signed, a.config.Path)
	a.config.Count(err == nil)
	if err == nil {
		if p.failed.Swap(nil) != nil {
			a.config.Logger.Info("witness cosigns again", "witness", p.name)
		}
		for _, f := range found {
			lines = append(lines, f.Line)
		}
		return lines
	}
	why := err.Error()
	if before := p.failed.Swap(&why); before == nil && ctx.Err() != context.Canceled { // Logged once, not every round.
		a.config.Logger.Warn("witness does not cosign", "witness", p.name, "url", p.URL, "error", err, "ahead", errors.Is(err, witness.ErrAhead))
	}
	return nil
}

// Failures returns the witnesses that did not answer the last request, each with the
// reason.
func (a *Asker) Failures() map[string]string {
	failed := map[string]string{}
	for _, p := range a.peers {
		if why := p.failed.Load(); why != nil {
			failed[p.name] = *why
		}
	}
	return failed
}

// Keys returns the verifier keys of the witnesses, one per line.
func (a *Asker) Keys() string {
	var keys strings.Builder
	for _, w := range a.config.Witnesses {
		keys.WriteString(w.Keys)
	}
	return keys.String()
}

// Witnesses returns the names of the witnesses, in the order of the settings.
func (a *Asker) Witnesses() []string {
	names := make([]string, len(a.peers))
	for i, p := range a.peers {
		names[i] = p.name
	}
	return names
}
