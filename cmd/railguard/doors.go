package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"railguard/console/signin"
	"railguard/engine/permit"
	"railguard/engine/possession"
	"railguard/httpapi/border"
	"railguard/httpapi/gateway"
	"railguard/httpapi/mcp"
	"railguard/httpapi/x402"
	"railguard/seal"
)

// doorFiles are the PEM files of one HTTPS listener. They are read again when they change;
// files that cannot be used are ignored, and the listener keeps what it has.
type doorFiles struct {
	cert, key string
	clients   string // File with the authorities of client certificates; "": clients need none.
}

const (
	doorLookEvery = 5 * time.Second
	doorBadTold   = time.Hour // Time between two log lines about files that cannot be used.
	doorEndsTold  = 24 * time.Hour
	doorEndsSoon  = 14 * 24 * time.Hour // Or a fifth of the certificate's lifetime, if that is less.
)

// doorTLS holds a listener's TLS configuration and the files it was made from.
//
// It looks at the files when a client connects, at most every five seconds. So it needs no
// goroutine, and only that client waits.
type doorTLS struct {
	name  string // Of the listener, in the metrics.
	files doorFiles
	log   *slog.Logger
	now   func() time.Time
	used  atomic.Pointer[tls.Config]

	mutex   sync.Mutex // Guards the fields below; held while the files are read.
	looked  time.Time
	read    [3][]byte // The contents of the files that used was made from.
	badTold time.Time
	endTold time.Time // When it was last logged that the certificate in use ends soon or is not valid.
}

// newDoorTLS reads the files for the first time.
func newDoorTLS(name string, files doorFiles, log *slog.Logger, now func() time.Time) (*doorTLS, error) {
	d := &doorTLS{name: name, files: files, log: log, now: now, looked: now()}
	read, config, err := files.loadConfig()
	if err != nil {
		return nil, err
	}
	d.read = read
	d.used.Store(config)
	d.tellDates(d.looked)
	return d, nil
}

// tellDates logs that the certificate in use is not valid now or ends soon. The listener goes
// on with it, but clients refuse it. Except in newDoorTLS, the caller holds the mutex.
func (d *doorTLS) tellDates(now time.Time) {
	leaf := d.used.Load().Certificates[0].Leaf
	soon := min(doorEndsSoon, leaf.NotAfter.Sub(leaf.NotBefore)/5)
	if now.Sub(d.endTold) < doorEndsTold || now.After(leaf.NotBefore) && leaf.NotAfter.Sub(now) > soon {
		return
	}
	d.endTold = now
	dates := []any{"certificate", d.files.cert, "from", leaf.NotBefore.UTC(), "until", leaf.NotAfter.UTC()}
	switch {
	case now.After(leaf.NotAfter):
		d.log.Error("the certificate of a listener has ended: clients refuse it. Renew it, or set the clock", dates...)
	case now.Before(leaf.NotBefore):
		d.log.Error("the certificate of a listener is not good yet: clients refuse it. Set the clock, or renew it", dates...)
	default:
		d.log.Warn("the certificate of a listener ends soon: renew it", dates...)
	}
}

// secondsLeft returns how many seconds the certificate in use is still valid; below 0: it has
// ended.
func (d *doorTLS) secondsLeft() float64 {
	d.reloadFiles() // A new connection does this too, but there may be none besides the scrape of the metrics.
	return d.used.Load().Certificates[0].Leaf.NotAfter.Sub(d.now()).Seconds()
}

// serverConfig returns the TLS configuration for an HTTP server.
func (d *doorTLS) serverConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			d.reloadFiles()
			return d.used.Load(), nil
		},
	}
}

// reloadFiles reads the files again if the last look was at least five seconds ago.
func (d *doorTLS) reloadFiles() {
	if !d.mutex.TryLock() {
		return // Another goroutine is reading them.
	}
	defer d.mutex.Unlock()
	now := d.now()
	if now.Sub(d.looked) < doorLookEvery {
		return
	}
	d.looked = now
	defer d.tellDates(now)
	read, config, err := d.files.loadConfig()
	if err == nil {
		err = d.refuseEnded(config, now)
	}
	if err != nil {
		border.CountCertificateError(d.name)
		if now.Sub(d.badTold) >= doorBadTold {
			d.badTold = now
			d.log.Warn("certificate files of a listener are of no use: the ones before them stay", "certificate", d.files.cert, "error", err)
		}
		return
	}
	d.badTold = time.Time{}
	if bytes.Equal(read[0], d.read[0]) && bytes.Equal(read[1], d.read[1]) && bytes.Equal(read[2], d.read[2]) {
		return
	}
	d.read = read
	d.used.Store(config)
	d.endTold = time.Time{}
	d.log.Info("certificate of a listener renewed", "certificate", d.files.cert, "until", config.Certificates[0].Leaf.NotAfter.UTC())
}

// refuseEnded refuses a certificate that is not good now in the place of one that is.
func (d *doorTLS) refuseEnded(config *tls.Config, now time.Time) error {
	fresh, used := config.Certificates[0].Leaf, d.used.Load().Certificates[0].Leaf
	if isGoodAt(fresh, now) || !isGoodAt(used, now) {
		return nil
	}
	return notGood(d.files.cert, fresh)
}

func isGoodAt(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && !now.After(c.NotAfter)
}

func notGood(file string, c *x509.Certificate) error {
	return fmt.Errorf("%s is good from %s until %s, and so not now", file, c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339))
}

// lookNow makes the next look read the files, however short ago the last one was.
func (d *doorTLS) lookNow() {
	d.mutex.Lock()
	d.looked = time.Time{}
	d.mutex.Unlock()
	d.reloadFiles()
}

// loadConfig reads the files and makes a TLS configuration of them.
func (f doorFiles) loadConfig() (read [3][]byte, _ *tls.Config, err error) {
	for i, name := range []string{f.cert, f.key, f.clients} {
		if name == "" {
			continue
		}
		if read[i], err = os.ReadFile(name); err != nil {
			return read, nil, err
		}
	}
	pair, err := tls.X509KeyPair(read[0], read[1])
	if err != nil {
		return read, nil, fmt.Errorf("%s, %s: %w", f.cert, f.key, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if f.clients != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(read[2]) {
			return read, nil, fmt.Errorf("%s holds no certificate", f.clients)
		}
		config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
		config.SessionTicketsDisabled = true // So that each connection is checked against the current authorities.
	}
	return read, config, nil
}

// checkDoors refuses listeners that could not serve, or that would let anybody in, before any
// data is touched.
func (f *serveFlags) checkDoors() error {
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return usageError("--tls-cert and --tls-key go together")
	}
	if f.tlsCert != "" {
		if _, _, err := (doorFiles{cert: f.tlsCert, key: f.tlsKey}).loadConfig(); err != nil {
			return usageError("--tls-cert, --tls-key: %w", err)
		}
	}
	if a := f.adminTLS; a != (doorFiles{}) {
		if a.cert == "" || a.key == "" || a.clients == "" {
			return usageError("--admin-cert, --admin-key and --admin-ca go together")
		}
		if _, _, err := a.loadConfig(); err != nil {
			return usageError("--admin-cert, --admin-key, --admin-ca: %w", err)
		}
		return nil
	}
	if local, err := onLoopback(f.admin); err != nil {
		return usageError("--admin: %w", err)
	} else if !local && !f.dev {
		return usageError("--admin %s is not on loopback, and the listener asks for no key (metrics, profiles): give --admin-cert, --admin-key and --admin-ca, by which clients prove themselves", f.admin)
	}
	return nil
}

// onLoopback reports whether an address can be reached from this machine only.
func onLoopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, err
	}
	if host == "localhost" {
		return true, nil
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback(), nil
}

// makeDoors makes the TLS configurations of both listeners; nil means plain HTTP.
func (s *server) makeDoors() (public, admin *tls.Config, err error) {
	open := func(name string, files doorFiles) *tls.Config {
		if files.cert == "" {
			return nil
		}
		d, failed := newDoorTLS(name, files, s.log.Logger, time.Now)
		if failed != nil {
			err = errors.Join(err, usageError("certificates: %w", failed))
			return nil
		}
		border.ShowCertificate(name, d.secondsLeft)
		s.doors = append(s.doors, d)
		return d.serverConfig()
	}
	public = open("public", doorFiles{cert: s.flags.tlsCert, key: s.flags.tlsKey})
	admin = open("admin", s.flags.adminTLS)
	return public, admin, err
}

// guestFlags are the settings of guests: the handlers in front of the public API.
type guestFlags struct {
	x402Upstream string
	x402Assets   []string
	x402Timeout  time.Duration // To settle.
	x402Patience time.Duration // To verify.

	gatewayFile string
	gateway     *gateway.Map // Read from gatewayFile by checkSettings; nil: none.

	webhookNetworks []string
	sandbox         bool // A caller can ask for any answer by its name.
	mcp             bool
	rehearsal       bool // For a drill: the node contacts nobody outside.
	consoleImport   bool // The console accepts uploads of list files.
}

// upstreamTokenName is the variable that holds the facilitator's token.
const upstreamTokenName = "RAILGUARD_X402_UPSTREAM_TOKEN"

func (f *guestFlags) defineFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&f.sandbox, "sandbox", false, "found a sandbox: every answer there is, to who asks for it by name; only with --dev")
	_ = flags.MarkHidden("sandbox")
	flags.BoolVar(&f.rehearsal, "rehearsal", false, "send no webhooks, ask no witnesses and fetch no lists: what 'railguard drill' starts")
	_ = flags.MarkHidden("rehearsal")
	flags.StringSliceVar(&f.webhookNetworks, "webhook-networks", nil, "private networks (CIDR) that webhooks may be sent to, on any port; others get them on port 443 of public addresses alone")
	flags.StringVar(&f.x402Upstream, "x402-upstream", "", "address of an x402 facilitator to put /x402/verify and /x402/settle in front of (its token: "+upstreamTokenName+"); empty: off")
	flags.StringSliceVar(&f.x402Assets, "x402-assets", nil, "tokens worth a dollar, as NETWORK/ADDRESS/DECIMALS/CHAIN, e.g. eip155:84532/0x036CbD53842c5426634e7929541eC2318f3dCF7e/6/BASE (default: USDC on Ethereum, Base and Solana)")
	flags.BoolVar(&f.consoleImport, "console-import", true, "take list files through the console too, from sessions with the role policy; off: on the admin listener alone")
	flags.StringVar(&f.gatewayFile, "gateway-map", "", "file that says what requests of a gateway pay: Envoy asks about each at /ext-authz (docs/gateway.md); the same on every node; empty: off")
	flags.BoolVar(&f.mcp, "mcp", false, "serve the Model Context Protocol at /mcp: tools for agents")
	flags.DurationVar(&f.x402Timeout, "x402-timeout", 30*time.Second, "how long the x402 facilitator may take to settle (1s to 2m)")
	flags.DurationVar(&f.x402Patience, "x402-verify-timeout", 10*time.Second, "how long the x402 facilitator may take to verify (1s to 2m)")
}

// addFacilitator puts the x402 facilitator in front of a handler, if one is configured.
func (f *guestFlags) addFacilitator(api http.Handler, log *logs) (http.Handler, error) {
	if f.x402Upstream == "" {
		if len(f.x402Assets) > 0 {
			return nil, usageError("--x402-assets: there is no --x402-upstream")
		}
		return api, nil
	}
	assets, err := x402.ParseAssets(f.x402Assets)
	if err != nil {
		return nil, usageError("--x402-assets: %w", err)
	}
	token, err := secretOf(upstreamTokenName)
	if err != nil {
		return nil, err
	}
	config := x402.Config{API: api, Upstream: f.x402Upstream, UpstreamToken: token, Assets: assets, SettleTimeout: f.x402Timeout, VerifyTimeout: f.x402Patience}
	if log != nil {
		config.Logger = log.Logger
	}
	door, err := x402.New(config)
	if err != nil {
		return nil, usageError("--x402-upstream, --x402-timeout, --x402-verify-timeout: %w", err)
	}
	return door, nil
}

// checkSettings checks the settings of guests, before any data is touched.
func (f *guestFlags) checkSettings() error {
	if _, err := readNetworks("--webhook-networks", f.webhookNetworks); err != nil {
		return err
	}
	if _, err := f.addFacilitator(http.NotFoundHandler(), nil); err != nil {
		return err
	}
	return f.readGatewayMap()
}

// addGuests puts all configured guests in front of the public API. Of the admin API the
// console reaches only the upload of list files.
func (f *serveFlags) addGuests(api, admin http.Handler, secrets *seal.Secrets, door *signin.Door, publicURL func() string, trust func() (permit.Want, error), log *logs) (http.Handler, error) {
	console, err := f.makeConsole(api, admin, secrets, door)
	if err != nil {
		return nil, err
	}
	front, err := f.addFacilitator(console, log)
	if err == nil && f.mcp {
		front, err = mcp.New(mcp.Config{API: front, PublicURL: publicURL, Version: version})
	}
	if err == nil && f.gateway != nil {
		front, err = gateway.New(gateway.Config{API: front, Map: f.gateway, Trust: trust})
	}
	return front, err
}

// checkAuthorities brings the authorities into the form in which they are signed.
func (f *serveFlags) checkAuthorities() error {
	if len(f.authorities) >= possession.AuthoritiesMax { // One is that of the public address.
		return usageError("--authority: at most %d", possession.AuthoritiesMax-1)
	}
	for i, authority := range f.authorities {
		address, err := url.Parse("https://" + authority)
		if err != nil || address.Host != authority || address.Hostname() == "" {
			return usageError("--authority: %q is no HOST or HOST:PORT", authority)
		}
		f.authorities[i] = possession.NormalAuthority(authority, "https")
	}
	return nil
}
