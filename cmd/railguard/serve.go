package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"railguard/cluster"
	"railguard/cluster/backup/schedule"
	"railguard/cluster/port"
	"railguard/cluster/recorder"
	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/httpapi"
	"railguard/httpapi/border"
	"railguard/httpapi/tracing"
	"railguard/ofac/keeper"
	"railguard/seal"
	"railguard/webhooks"
)

type serveFlags struct {
	id, data, http, admin, cluster, advertise string
	bootstrapExpect                           int
	join                                      []string
	ofacDir, ofacSource, publicURL, issuer    string
	tlsCert, tlsKey                           string
	adminTLS                                  doorFiles
	nodeCert                                  port.Certificates // Certificate of this node on the port between nodes.
	trustedProxies                            []string
	authorities                               []string
	grace                                     time.Duration
	config, logLevel, logFormat               string
	logAddresses                              string
	shown                                     [][3]string // The settings without secrets, as config show prints them.
	insecure, dev, testClock                  bool
	testClockFile                             string // A wrong clock for fault tests.
	ofacEvery, deadAfter, leapMax             time.Duration
	silentAfter                               time.Duration
	client                                    clientBounds
	witness                                   witnessFlags
	signIn                                    signInFlags
	bundles                                   bundleFlags
	traces                                    traceFlags
	guestFlags
}

// clientBounds are the limits for one client address; 0: no limit.
type clientBounds struct{ connections, unfinished int }

func newServe() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Run one node", GroupID: "server", Args: cobra.NoArgs,
		Long: `Run one node of a cluster (or a cluster of one).

A node never forms a cluster unless told to: the first start of a new cluster
needs --bootstrap-expect N (1 for a cluster of one). Without a published OFAC
list the node answers 503 to screening calls: give --ofac-dir a folder with
OFAC's files at first bootstrap, or run ` + "`railguard ofac import DIR`" + ` later.

Secrets come from the environment, directly or as NAME_FILE:
  RAILGUARD_CLUSTER_SECRET   at least 16 bytes, the same on all nodes; a cluster of
                             one may leave it out (it then keeps DATA/cluster.secret)
  RAILGUARD_CLUSTER_SECRET_ALSO, RAILGUARD_CLUSTER_SECRET_OLD
                             while it is exchanged: see docs/OPERATING.md
  RAILGUARD_BOOTSTRAP_KEY    the first admin API key of a new cluster
  RAILGUARD_OIDC_CLIENT_SECRET
                             this service's secret at the identity provider

Nodes prove themselves to each other on --cluster by the cluster secret, or by
--cluster-cert, --cluster-key and --cluster-ca (read again when they change). The
secret is needed in both cases: it also seals the cluster's signing keys.

Every flag has an environment twin: --ofac-dir is RAILGUARD_OFAC_DIR.`,
		Example: `  railguard serve --id n1 --data /var/lib/railguard --http 127.0.0.1:8080 --cluster 127.0.0.1:8280 --bootstrap-expect 1 --public-url https://guard.example.org --ofac-dir ./lists`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			origins, err := settleOrigins(cmd, serverEnvironment)
			if err != nil {
				return err
			}
			f.shown = describeSettings(cmd.Flags(), origins)
			return runServer(cmd.Context(), f)
		},
	}
	f.defineFlags(cmd.Flags())
	return cmd
}

// defineFlags declares the flags of `railguard serve`; `railguard config` uses them too.
func (f *serveFlags) defineFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.id, "id", "", "this node's name for ever (letters, digits, - _ .)")
	flags.StringVar(&f.data, "data", "", "folder for this node's data")
	flags.StringVar(&f.http, "http", "127.0.0.1:8080", "address of the public API")
	flags.StringVar(&f.admin, "admin", "", "address of the admin listener: metrics, profiles, keys, list upload (default: loopback, API port + 100)")
	flags.StringVar(&f.cluster, "cluster", "", "address of the port between nodes (not needed by a cluster of one)")
	flags.StringVar(&f.advertise, "advertise", "", "address at which peers reach --cluster, when it differs")
	flags.StringVar(&f.nodeCert.Cert, "cluster-cert", "", "certificate file of this node for --cluster; see: railguard tls --help (default: proof by the cluster secret)")
	flags.StringVar(&f.nodeCert.Key, "cluster-key", "", "its key file")
	flags.StringVar(&f.nodeCert.CA, "cluster-ca", "", "file with the authorities that issue certificates to this cluster's nodes")
	flags.IntVar(&f.bootstrapExpect, "bootstrap-expect", 0, "form a new cluster when this many nodes are there (1: alone)")
	flags.StringSliceVar(&f.join, "join", nil, "cluster addresses of nodes to find the cluster through")
	flags.StringVar(&f.ofacDir, "ofac-dir", "", "folder with OFAC's published files, imported when the cluster has no list yet")
	flags.StringVar(&f.ofacSource, "ofac-source", "", "where to fetch lists: \"published\" for OFAC's own addresses, or a mirror's https base URL; empty: never fetch")
	flags.DurationVar(&f.ofacEvery, "ofac-every", 6*time.Hour, "how often to fetch")
	flags.DurationVar(&f.deadAfter, "dead-after", 10*time.Minute, "a voter silent for so long loses its vote until it answers, where more than three have one; 0: never")
	flags.DurationVar(&f.leapMax, "leap-max", time.Hour, "how far the clocks may be beyond the log for the cluster to begin to serve without persons who confirm them, after an outage that no node lived through; 0: any distance")
	flags.DurationVar(&f.silentAfter, "silent-after", 2*time.Second, "how long this node answers from its state although nobody confirms that it is up to date; from 1s to 30s")
	flags.StringVar(&f.publicURL, "public-url", "", "address under which callers know the service; part of issued credentials, fixed at bootstrap")
	flags.StringSliceVar(&f.authorities, "authority", nil, "HOST or HOST:PORT: a further name under which agents sign their calls (RFC 9421), beside that of --public-url and whatever Host says; may be given up to 3 times")
	flags.StringVar(&f.issuer, "issuer", "railguard", "issuer name in did:kya:NAME, fixed at bootstrap")
	flags.StringVar(&f.tlsCert, "tls-cert", "", "certificate file of the public API")
	flags.StringVar(&f.tlsKey, "tls-key", "", "its key file; both are read again when they change")
	flags.StringVar(&f.adminTLS.cert, "admin-cert", "", "certificate file of the admin listener; needed where that is not on loopback")
	flags.StringVar(&f.adminTLS.key, "admin-key", "", "its key file")
	flags.StringVar(&f.adminTLS.clients, "admin-ca", "", "file with the authorities of the certificates that clients of the admin listener must show")
	flags.DurationVar(&f.grace, "grace", 5*time.Second, "after SIGTERM: serve calls for so long while not ready, before new ones are refused; a second signal ends it at once (development: 0)")
	flags.StringSliceVar(&f.trustedProxies, "trusted-proxies", nil, "networks (CIDR) whose X-Forwarded-For is believed")
	flags.IntVar(&f.client.connections, "connections-per-address", engine.AddressConnectionsMax, "open connections of one client address; behind a trusted proxy not counted; 0: no bound")
	flags.IntVar(&f.client.unfinished, "unfinished-per-address", engine.AddressUnfinishedMax, "requests of one client address, or of one behind a trusted proxy, that are not here whole; 0: no bound")
	flags.StringSliceVar(&f.witness.given, "witness", nil, "\"URL KEY KEY\": a witness that is asked to cosign checkpoints of the log, and its verifier keys, one or both; may be given up to 16 times, the same on every node")
	flags.StringVar(&f.witness.file, "log-policy", "", "file with a C2SP tlog-policy, in place of --witness: its witnesses are asked at their URLs, and a checkpoint is handed out as cosigned only if its quorum signed; the same on every node")
	flags.DurationVar(&f.witness.every, "witness-every", 10*time.Second, "how often witnesses are asked, at least 1s")
	flags.StringVar(&f.config, "config", "", "YAML or JSON file with any of these settings")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error; changed while the node runs by 'log-level set'")
	flags.StringVar(&f.logFormat, "log-format", "text", "text or json: one object a line")
	flags.StringVar(&f.logAddresses, "log-addresses", "hashed", "addresses of refused callers in the log: hashed (one word for one caller, on all nodes; it cannot be read back without the cluster secret), whole or none")
	flags.BoolVar(&f.insecure, "insecure", false, "plain text between nodes; refused unless every address is loopback")
	flags.BoolVar(&f.dev, "dev", false, "this cluster is for development: the embedded sample list may serve")
	flags.BoolVar(&f.testClock, "test-clock", false, "serve POST /v1/test/clock; only for clusters bootstrapped with --dev")
	flags.StringVar(&f.testClockFile, "test-clock-file", "", "file that says by how much this node's clock is wrong; only for clusters bootstrapped with --dev")
	f.bundles.define(flags)
	f.traces.define(flags)
	f.guestFlags.defineFlags(flags)
	f.signIn.defineFlags(flags)
	_ = flags.MarkHidden("dev")
	_ = flags.MarkHidden("test-clock-file")
}

// server is one running node with its listeners.
type server struct {
	flags   *serveFlags
	log     *logs
	node    *cluster.Node
	api     *httpapi.API
	front   http.Handler // The public API with its guests in front of it.
	lists   listKeeper
	hooks   *webhooks.Dispatcher
	retro   *retrace.Retro
	copies  *schedule.Runner
	bundles *bundleKeeper   // nil: this node writes none.
	tracer  *tracing.Tracer // nil: no call is traced.
	public  *http.Server
	admin   *http.Server
	callers *callers
	record  *recorder.Recorder
	failed  chan error
	closing chan struct{}

	overseer overseer

	publicDoor, adminDoor *border.Entrance
	doors                 []*doorTLS // Those of the listeners that have certificates.
}

// portTaken is the error of a listener that could not be opened.
func portTaken(flag string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: %w: another process listens there; end it, or give another address", flag, err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// runServer opens everything in order, waits for the end and closes in reverse order.
func runServer(ctx context.Context, f *serveFlags) error {
	if err := f.checkSettings(); err != nil {
		return err
	}
	s := &server{flags: f, record: recorder.New(time.Now), failed: make(chan error, 4), closing: make(chan struct{}), overseer: overseerOfProcess()}
	go paceCollector(s.closing)
	var err error
	if s.log, err = newLogs(os.Stderr, f.logLevel, f.logFormat); err != nil {
		return err
	}
	if s.tracer, err = f.traces.makeTracer(f.id, s.log.Logger); err != nil {
		return err
	}
	if most, known := filesAllowed(); known && most < filesMin {
		s.log.Warn("this process may have few files and connections open: callers beyond them find nobody, and writes may fail", "may", most, "needed", filesMin, "do", filesRemedy)
	}
	publicListener, err := net.Listen("tcp", f.http)
	if err != nil {
		return portTaken("--http", err) // Not a usage error: a supervisor should try again.
	}
	defer publicListener.Close()
	adminListener, err := net.Listen("tcp", f.admin)
	if err != nil {
		return portTaken("--admin", err)
	}
	defer adminListener.Close()
	s.callers = newCallers(publicListener, adminListener)
	if err := s.serveOn(publicListener, adminListener); err != nil {
		return err
	}
	go s.answerHangups()
	s.tellOverseer("STATUS=reads its state")
	if err := s.openNode(); err != nil {
		return errors.Join(err, s.public.Close(), s.admin.Close())
	}
	s.publicDoor.Open(s.front)
	s.adminDoor.Open(s.api.AdminHandler())
	s.retro = httpapi.NewRetro(s.api, s.node)
	for _, duty := range s.nodeDuties() {
		duty.Start()
	}
	go s.overseer.giveSigns(s.closing, s.answersLivez)
	s.tellOverseer("READY=1\nSTATUS=serves; whether it takes calls is what /readyz says")
	s.log.Info("serving", "id", f.id, "http", publicListener.Addr().String(), "admin", adminListener.Addr().String(), "version", version)
	select {
	case <-ctx.Done():
		s.log.Info("stopping", "grace", s.flags.grace)
		s.tellOverseer("STOPPING=1\nSTATUS=leaves: serves calls for the grace, then answers those that run")
		s.leaveService()
	case err = <-s.failed:
	}
	s.closeAll()
	return err
}

// duty is background work that a node does while it serves.
type duty interface{ Start() }

// nodeDuties returns the duties of this node. In a rehearsal there are none: the state is a
// copy of a real one, so the receivers of events in it are real.
func (s *server) nodeDuties() []duty {
	if s.flags.rehearsal {
		s.log.Warn("a rehearsal: no webhooks are sent, no witnesses asked, no lists fetched")
		return nil
	}
	duties := []duty{s.lists, s.retro, s.api.Witnesses(), s.hooks, s.api.Looks(), s.copies}
	if s.tracer != nil {
		duties = append(duties, s.tracer)
	}
	if s.flags.bundles.dir != "" {
		s.bundles = &bundleKeeper{flags: s.flags.bundles, api: s.front, logTime: s.node.LogTime, oldest: s.oldestLeaf, log: s.log}
		duties = append(duties, s.bundles)
	}
	return duties
}

// oldestLeaf returns when the oldest leaf of history was written.
func (s *server) oldestLeaf() (at engine.Time, known bool) {
	store := s.node.Audit()
	oldest, err := store.Record(store.Oldest())
	return engine.Time(oldest.Time), err == nil
}

func (f *serveFlags) checkSettings() error {
	switch {
	case f.id == "":
		return usageError("--id is required (this node's name, e.g. n1)")
	case f.data == "":
		return usageError("--data is required (this node's folder)")
	case f.sandbox && !f.dev:
		return usageError("--sandbox is only for development clusters (railguard dev --sandbox)")
	case !f.sandbox && "did:kya:"+f.issuer == seal.SandboxIssuer:
		return usageError("--issuer: this is the sandbox's")
	case f.testClock && !f.dev:
		return usageError("--test-clock is only for development clusters (railguard dev)")
	case f.testClockFile != "" && !f.dev:
		return usageError("--test-clock-file is only for development clusters (railguard dev)")
	case f.cluster == "" && (f.bootstrapExpect > 1 || len(f.join) > 0):
		return usageError("--cluster is required (the address of the port between nodes) with --bootstrap-expect above 1 or --join")
	case f.silentAfter != 0 && (f.silentAfter < time.Second || f.silentAfter > 30*time.Second):
		return usageError("--silent-after must be between 1s and 30s")
	case f.grace < 0 || f.grace > 10*time.Minute:
		return usageError("--grace must be between 0 and 10m")
	case f.bootstrapExpect < 0 || f.bootstrapExpect > 9:
		return usageError("--bootstrap-expect must be between 0 and 9")
	}
	if err := errors.Join(f.checkNodeCertificates(), f.bundles.check(), f.traces.check(), f.guestFlags.checkSettings()); err != nil {
		return err
	}
	if err := f.checkAuthorities(); err != nil {
		return err
	}
	if err := f.signIn.checkFlags(); err != nil {
		return err
	}
	if err := f.witness.checkFlags(); err != nil {
		return err
	}
	if _, err := border.ParseAddressForm(f.logAddresses); f.logAddresses != "" && err != nil {
		return usageError("--log-addresses %w", err)
	}
	if err := keeper.CheckSource(f.ofacSource); err != nil {
		return usageError("--ofac-source: %w", err)
	}
	f.admin = strings.TrimPrefix(strings.TrimPrefix(f.admin, "http://"), "https://") // For a server RAILGUARD_ADMIN is an address, for verbs a URL.
	if f.admin == "" {
		address, err := adminBeside(f.http)
		if err != nil {
			return usageError("--http: %w", err)
		}
		f.admin = address
	}
	return f.checkDoors()
}

// checkNodeCertificates refuses certificates that no peer would accept as this node's, before
// any data is touched.
func (f *serveFlags) checkNodeCertificates() error {
	c := &f.nodeCert
	switch {
	case c.Cert == "" && c.Key == "" && c.CA == "":
		return nil
	case c.Cert == "" || c.Key == "" || c.CA == "":
		return usageError("--cluster-cert, --cluster-key and --cluster-ca go together")
	case f.insecure:
		return usageError("--cluster-cert and --insecure exclude each other")
	case f.cluster == "":
		return usageError("--cluster-cert is for the port between nodes: give its address with --cluster")
	}
	if err := c.Check(f.id, time.Now()); err != nil {
		return usageError("--cluster-cert, --cluster-key, --cluster-ca: %w", err)
	}
	return nil
}

// adminBeside returns the default address of the admin listener: loopback, 100 ports above the
// API.
func adminBeside(public string) (string, error) {
	address, err := net.ResolveTCPAddr("tcp", public)
	if err != nil {
		return "", err
	}
	if address.Port == 0 {
		return "127.0.0.1:0", nil
	}
	return fmt.Sprintf("127.0.0.1:%d", address.Port+100), nil
}

// serveOn starts answering on both listeners. Until the node is open, the answers say only
// that it lives.
func (s *server) serveOn(public, admin net.Listener) error {
	publicTLS, adminTLS, err := s.makeDoors()
	if err != nil {
		return err
	}
	proxies, _ := readProxies(s.flags.trustedProxies) // If they cannot be read, opening the node reports it.
	limits := border.ServerLimits{
		Secure: strings.HasPrefix(s.flags.publicURL, "https://"),
		Logger: s.log.Logger, PerAddress: s.flags.client.connections, UnfinishedPerAddress: s.flags.client.unfinished, TrustedProxies: proxies,
	}
	s.publicDoor, s.adminDoor = border.NewEntrance(version), border.NewEntrance(version)
	s.public, s.admin = border.NewServer(s.publicDoor, limits), border.NewServer(s.adminDoor, limits)
	s.admin.ReadTimeout, s.admin.WriteTimeout = 10*time.Minute, 10*time.Minute // For uploads of lists, and profiles.
	s.public.TLSConfig, s.admin.TLSConfig = publicTLS, adminTLS
	s.callers.follow(s.public)
	s.callers.follow(s.admin)
	go func() { s.failed <- serveUntilEnded(s.public, public) }()
	go func() { s.failed <- serveUntilEnded(s.admin, admin) }()
	return nil
}

func serveUntilEnded(server *http.Server, listener net.Listener) error {
	var err error
	if server.TLSConfig != nil {
		err = server.ServeTLS(listener, "", "")
	} else {
		err = server.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("listener: %w", err)
}

// refusing is how long a node that ends refuses calls before its listeners close. The refusal
// says that nothing happened, so a balancer that does not ask /readyz learns from it. After a
// call sent while the listeners close, the balancer cannot know whether it happened.
const refusing = time.Second

// leaveService takes the node out of service. It reports not ready and serves calls for the
// grace period, then refuses them. A second signal or a listener that fails ends it early.
func (s *server) leaveService() {
	if s.flags.dev {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s.api.SetLeaving()
	granted, cancel := context.WithTimeout(ctx, s.flags.grace)
	s.node.Leave(granted)
	ends := s.lingerUntil(granted)
	cancel()
	if ends || ctx.Err() != nil {
		return
	}
	s.api.SetDraining(true)
	refused, cancel := context.WithTimeout(ctx, min(refusing, s.flags.grace))
	defer cancel()
	s.lingerUntil(refused)
}

// lingerUntil waits until ctx is done. It returns true if a listener fails before.
func (s *server) lingerUntil(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-s.failed: //nolint:errcheck // The node ends either way, and says why it does.
		return true
	}
}

// closeAll drains calls and closes everything in reverse order of opening.
func (s *server) closeAll() {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	close(s.closing)
	if s.bundles != nil {
		s.bundles.Stop()
	}
	s.api.SetDraining(true)
	s.copies.Stop()
	s.lists.Stop()
	s.retro.Stop()
	s.api.Witnesses().Stop()
	s.hooks.Stop()
	s.api.Looks().Stop()
	if err := s.node.Drain(ctx); err != nil {
		s.log.Warn("drain", "error", err)
	}
	for _, server := range []*http.Server{s.public, s.admin} {
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close()
		}
	}
	s.tracer.Stop()
	s.api.Close()
	if err := s.node.Close(); err != nil {
		s.log.Error("close", "error", err)
	}
}

func readProxies(texts []string) ([]netip.Prefix, error) {
	return readNetworks("--trusted-proxies", texts)
}

func readNetworks(flag string, texts []string) ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usageError("%s: %w", flag, err)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}
