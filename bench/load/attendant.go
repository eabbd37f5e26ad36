package load

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"railguard/cluster/testcluster"
)

const (
	// HostPorts is how many ports an attendant uses behind its own.
	HostPorts = 15

	orderBytesMax  = 64 << 10
	headerBytesMax = 16 << 10
	processesMax   = 64 // Of one loader, with those that have ended.
	syncSpanMax    = 10 * time.Second
)

// HostOptions are the settings of an attendant.
type HostOptions struct {
	Listen  string // The host's own address, which the loader and the other hosts reach.
	Folder  string // Where the folder of a run is made and removed.
	Binary  string // The railguard whose nodes run here, and its version.
	Version string
	Self    string // This program, which also runs the base lines.
	Secret  string
	Lease   time.Duration // 0: the standard one.
	Say     io.Writer     // Where it says who comes and goes; nil: nowhere.
}

// ErrHostOptions: an attendant cannot begin with these settings.
var ErrHostOptions = errors.New("settings of a host")

// check returns the address on which processes listen.
func (o *HostOptions) check() (ip net.IP, port int, err error) {
	host, text, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: listen: %w", ErrHostOptions, err)
	}
	ip = net.ParseIP(host)
	port, _ = strconv.Atoi(text)
	switch {
	case ip == nil || ip.IsUnspecified():
		return nil, 0, fmt.Errorf("%w: listen %q: want the IP address of this host that the loader and the other hosts reach", ErrHostOptions, o.Listen)
	case port < 1 || port+HostPorts > 65535:
		return nil, 0, fmt.Errorf("%w: listen %q: want a port from 1 to %d", ErrHostOptions, o.Listen, 65535-HostPorts)
	}
	if err := checkSecret(o.Secret); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrHostOptions, err)
	}
	if info, err := os.Stat(o.Folder); err != nil || !info.IsDir() {
		return nil, 0, fmt.Errorf("%w: folder %q: want one that is there", ErrHostOptions, o.Folder)
	}
	return ip, port, nil
}

// attendant runs processes of one loader at a time on its host. It runs nothing but nodes of its
// railguard and base lines of its own program, and what it runs ends with the loader's lease.
type attendant struct {
	options HostOptions
	address string // Where it listens.
	ip      net.IP
	port    int
	folder  string
	digest  [sha256.Size]byte // Of the secret.
	ending  context.Context   // Ends with the attendant.

	mutex   sync.Mutex
	session *session // nil: no loader has the attendant.
}

// session is the time for which one loader has the attendant.
type session struct {
	id        string
	attendant *attendant
	place     *local

	mutex     sync.Mutex
	heard     time.Time // When the loader was last heard of.
	over      bool
	processes map[string]process
	taken     [HostPorts]bool
}

// ServeHost runs an attendant until the context ends. Then everything that it started has ended.
func ServeHost(ctx context.Context, o HostOptions) error {
	ip, port, err := o.check()
	if err != nil {
		return err
	}
	if o.Lease == 0 {
		o.Lease = leaseSpan
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return err
	}
	a := &attendant{
		options: o, address: listener.Addr().String(), ip: ip, port: port, digest: sha256.Sum256([]byte("Bearer " + o.Secret)), ending: ctx,
		folder: filepath.Join(o.Folder, "railguard-bench-host-"+strconv.Itoa(port)+"-"+strings.NewReplacer(":", "-", "%", "-").Replace(ip.String())),
	}
	if err := os.RemoveAll(a.folder); err != nil { // An attendant of this address that was killed left it.
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: a, ReadHeaderTimeout: raftPatience, ReadTimeout: answerPatience, IdleTimeout: hostPatience, MaxHeaderBytes: headerBytesMax}
	var watch sync.WaitGroup
	watching, stop := context.WithCancel(ctx)
	watch.Go(func() { a.watch(watching) })
	context.AfterFunc(watching, func() { _ = server.Close() }) // This makes Serve return.
	a.say("waiting for a loader at %s; nodes use the ports %d to %d", a.address, port+1, port+HostPorts)
	err = server.Serve(listener)
	stop()
	watch.Wait()
	a.end(nil, "the attendant ends")
	select {
	case <-ctx.Done(): // It was told to end.
		return nil
	default:
		return err
	}
}

// watch ends the session of a loader that is not heard of any more.
func (a *attendant) watch(ctx context.Context) {
	tick := time.NewTicker(a.options.Lease / beatsOfLease)
	defer tick.Stop()
	for last := time.Now(); ; last = time.Now() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.mutex.Lock()
			s := a.session
			a.mutex.Unlock()
			if s != nil && time.Since(last) > a.options.Lease/2 { // This host stood still, and beats wait to be read.
				_ = s.hear() // A session that is over has nothing to lose.
			}
			if s != nil && s.silence() > a.options.Lease {
				a.end(s, "its loader has not been heard of for "+a.options.Lease.String())
			}
		}
	}
}

func (a *attendant) say(format string, args ...any) {
	if a.options.Say != nil {
		fmt.Fprintf(a.options.Say, format+"\n", args...)
	}
}

// errAnswer is an error with the status that answers it.
type errAnswer struct {
	status int
	error
}

func refuse(status int, format string, args ...any) error {
	return &errAnswer{status, fmt.Errorf(format, args...)}
}

// ServeHTTP obeys one order.
func (a *attendant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := a.obey(w, r)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status := http.StatusInternalServerError
		if known := (*errAnswer)(nil); errors.As(err, &known) {
			status = known.status
		}
		w.WriteHeader(status)
		answer = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(answer) // A loader that is gone needs no answer.
}

func (a *attendant) obey(w http.ResponseWriter, r *http.Request) (any, error) {
	given := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	if subtle.ConstantTimeCompare(given[:], a.digest[:]) != 1 {
		return nil, refuse(http.StatusUnauthorized, "the secret is another one")
	}
	if r.Method != http.MethodPost {
		return nil, refuse(http.StatusMethodNotAllowed, "orders are POST")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, orderBytesMax))
	if err != nil {
		return nil, refuse(http.StatusRequestEntityTooLarge, "order: %w", err)
	}
	id, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if id == "claim" && name == "" {
		return a.claim()
	}
	a.mutex.Lock()
	s := a.session
	a.mutex.Unlock()
	if s == nil || s.id != id {
		return nil, refuse(http.StatusGone, "the attendant is not this loader's, or no longer: claim it")
	}
	if err := s.hear(); err != nil {
		return nil, err
	}
	verb := verbs[name]
	if verb == nil {
		return nil, refuse(http.StatusNotFound, "there is no order %.40q", name)
	}
	return verb(r.Context(), s, body)
}

// claim gives the attendant to a loader, unless another one has it.
func (a *attendant) claim() (*hostFacts, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.ending.Err() != nil {
		return nil, refuse(http.StatusServiceUnavailable, "the attendant ends")
	}
	if a.session != nil {
		return nil, refuse(http.StatusConflict, "another loader has this attendant; it becomes free when that one ends, or %v after it vanished", a.options.Lease)
	}
	if err := os.Mkdir(a.folder, 0o700); err != nil {
		return nil, err
	}
	s := &session{id: randomHex(16), attendant: a, heard: time.Now(), processes: map[string]process{}}
	s.place = &local{
		folder: a.folder, product: a.options.Binary, self: a.options.Self, spawner: testcluster.NewSpawner(),
		reserve: s.takePorts, release: s.returnPorts,
	}
	a.session = s
	a.say("a loader has come")
	return &hostFacts{
		Session: s.id, Lease: a.options.Lease, Address: a.address, Machine: thisMachine(a.folder), Boot: bootID(),
		Version: a.options.Version, Build: buildID(a.options.Binary),
	}, nil
}

// end ends a session (nil: any), all its processes, and removes its folder.
func (a *attendant) end(s *session, why string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.session == nil || s != nil && s != a.session {
		return
	}
	a.session.end()
	if err := os.RemoveAll(a.folder); err != nil {
		a.say("folder %s stays: %v", a.folder, err)
	}
	a.session = nil
	a.say("all processes have ended and the folder is removed: %s", why)
}

// silence is how long the loader has not been heard of.
func (s *session) silence() time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return time.Since(s.heard)
}

func (s *session) hear() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		return refuse(http.StatusGone, "this loader's time is over")
	}
	s.heard = time.Now()
	return nil
}

func (s *session) end() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.over = true
	for _, p := range s.processes {
		if err := p.kill(context.Background()); err != nil {
			s.attendant.say("%v", err)
		}
	}
	s.place.spawner.Close() // What survived the signal ends with this thread.
}

func (s *session) address(port int) string {
	return net.JoinHostPort(s.attendant.ip.String(), strconv.Itoa(s.attendant.port+1+port))
}

// takePorts gives the lowest ports that no process of this loader has.
func (s *session) takePorts(count int) (all []string, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var ports []int
	for port, taken := range s.taken {
		if !taken && len(ports) < count {
			ports = append(ports, port)
		}
	}
	if count < 1 || len(ports) < count {
		return nil, refuse(http.StatusConflict, "there are no %d free ports of %d", count, HostPorts)
	}
	for _, port := range ports {
		s.taken[port] = true
		all = append(all, s.address(port))
	}
	return all, nil
}

func (s *session) returnPorts(addresses ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for port := range s.taken {
		if slices.Contains(addresses, s.address(port)) {
			s.taken[port] = false
		}
	}
}

// launch starts a process of a new name, on addresses that this loader has.
func (s *session) launch(ctx context.Context, t *task) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var own []string
	for port, taken := range s.taken {
		if taken {
			own = append(own, s.address(port))
		}
	}
	switch {
	case s.over:
		return refuse(http.StatusGone, "this loader's time is over")
	case t.Kind == taskFloods:
		return refuse(http.StatusBadRequest, "floods are sent where the loader is")
	case len(s.processes) >= processesMax:
		return refuse(http.StatusConflict, "there are %d processes already", processesMax)
	case s.processes[t.Name] != nil:
		return refuse(http.StatusConflict, "there is a process %s already", t.Name)
	}
	for _, address := range t.Addresses {
		if !slices.Contains(own, address) {
			return refuse(http.StatusBadRequest, "address %.60q was not given to this loader", address)
		}
	}
	if err := t.check(); err != nil {
		return refuse(http.StatusBadRequest, "%w", err)
	}
	p, err := s.place.launch(ctx, t)
	if err != nil {
		return err
	}
	s.processes[t.Name] = p
	return nil
}

// start starts a process again, unless the session has ended meanwhile.
func (s *session) start(ctx context.Context, name string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := s.processes[name]
	if p == nil || s.over {
		return refuse(http.StatusNotFound, "there is no process %.60q", name)
	}
	return p.start(ctx)
}

func (s *session) find(name string) (process, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := s.processes[name]
	if p == nil {
		return nil, refuse(http.StatusNotFound, "there is no process %.60q", name)
	}
	return p, nil
}

// verbs are the orders that a loader may give.
var verbs = map[string]func(context.Context, *session, []byte) (any, error){
	"beat": verb(func(context.Context, *session, *beatOrder) (any, error) { return nil, nil }),
	"release": verb(func(_ context.Context, s *session, _ *releaseOrder) (any, error) {
		s.attendant.end(s, "its loader has released it")
		return nil, nil
	}),
	"addresses": verb(func(ctx context.Context, s *session, o *addressesOrder) (any, error) {
		return s.place.addresses(ctx, o.Count)
	}),
	"launch": verb(func(ctx context.Context, s *session, t *task) (any, error) { return nil, s.launch(ctx, t) }),
	"start":  verb(func(ctx context.Context, s *session, o *processOrder) (any, error) { return nil, s.start(ctx, o.Name) }),
	"stop": verb(func(ctx context.Context, s *session, o *processOrder) (any, error) {
		return nil, s.tell(ctx, o, process.stop)
	}),
	"kill": verb(func(ctx context.Context, s *session, o *processOrder) (any, error) {
		return nil, s.tell(ctx, o, process.kill)
	}),
	"forget": verb(func(ctx context.Context, s *session, o *processOrder) (any, error) { return nil, s.forget(ctx, o) }),
	"look": verb(func(ctx context.Context, s *session, o *processOrder) (any, error) {
		p, err := s.find(o.Name)
		if err != nil {
			return nil, err
		}
		return p.look(ctx)
	}),
	"sync": verb(func(ctx context.Context, s *session, o *syncOrder) (any, error) {
		return measureSync(ctx, s.place.folder, min(o.Span, syncSpanMax))
	}),
	"reach": verb(func(ctx context.Context, _ *session, o *reachOrder) (any, error) {
		if err := checkAddress(o.Address); err != nil {
			return nil, refuse(http.StatusBadRequest, "%w", err)
		}
		return reach(ctx, o.Address)
	}),
}

// verb reads an order strictly and does it.
func verb[O any](do func(context.Context, *session, *O) (any, error)) func(context.Context, *session, []byte) (any, error) {
	return func(ctx context.Context, s *session, body []byte) (any, error) {
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		order := new(O)
		if err := decoder.Decode(order); err != nil || decoder.More() {
			return nil, refuse(http.StatusBadRequest, "order: %v", errors.Join(err, errors.New("want one object")))
		}
		return do(ctx, s, order)
	}
}

func (s *session) tell(ctx context.Context, o *processOrder, do func(process, context.Context) error) error {
	p, err := s.find(o.Name)
	if err != nil {
		return err
	}
	return do(p, ctx)
}

// forget forgets a process that has ended, and its name with it.
func (s *session) forget(ctx context.Context, o *processOrder) error {
	if err := s.tell(ctx, o, process.forget); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.processes, o.Name)
	return nil
}
