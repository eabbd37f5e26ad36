package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"railguard/cluster"
	"railguard/cluster/backup"
	"railguard/cluster/backup/schedule"
	"railguard/cluster/datadir"
	"railguard/cluster/timing"
	"railguard/console"
	"railguard/console/signin"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi"
	"railguard/httpapi/border"
	"railguard/httpapi/operations"
	"railguard/httpapi/rulebook"
	"railguard/ofac/keeper"
	"railguard/seal"
	"railguard/webhooks"
)

const (
	secretFile     = "cluster.secret" // Here a cluster of one keeps the secret that it generated.
	adminTokenFile = "admin.token"    // Holds a token for people on this machine to use the admin listener.

	bootstrapKeyMin = 24 // Characters of the first API key, which may do everything.
)

// openNode makes the node and its API. The listeners are bound already, so that a port in use
// is reported before any data is touched.
func (s *server) openNode() error {
	f := s.flags
	if err := os.MkdirAll(f.data, 0o700); err != nil { // Not a usage error: a disk that is missing now may be there at the next start.
		return dataTrouble("--data", err)
	}
	secret, also, secrets, err := f.readSecrets()
	if err != nil {
		return err
	}
	token, err := keptSecret(filepath.Join(f.data, adminTokenFile))
	if err != nil {
		return dataTrouble("--data", err)
	}
	trusted, err := readProxies(f.trustedProxies)
	if err != nil {
		return err
	}
	firstKey, err := bootstrapKey()
	if err != nil {
		return err
	}
	probe, err := timing.NewProbe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	config := cluster.Config{
		ID: f.id, DataDir: f.data, ListenCluster: f.cluster, Advertise: f.advertise, APIAddr: f.http,
		Join: f.join, BootstrapExpect: f.bootstrapExpect, Secret: secret, SecretsAlso: also, Certificates: f.nodeCert, AdmitAll: f.dev, Insecure: f.insecure,
		Version: version, Logger: s.log.Logger, Recorder: s.record, Sever: s.callers.sever, Calls: timing.NewCalls(probe.Wait), DeadAfter: deadAfter(f.deadAfter), LeapMax: leapMax(f.leapMax), SilentAfter: f.silentAfter,
	}
	if f.bootstrapExpect > 0 {
		if err := f.namesItself(); err != nil {
			return err
		}
		if config.Genesis, err = genesisOf(f, secrets, firstKey); err != nil {
			return err
		}
	}
	if config.Clock, err = s.testClock(); err != nil {
		return err
	}
	s.node, err = cluster.Open(config)
	switch {
	case errors.Is(err, cluster.ErrConfig):
		return usageError("%w", err)
	case errors.Is(err, datadir.ErrDamaged): // A restart does not mend it.
		return &exitError{code: exitFatal, err: fmt.Errorf("open %s: %w", f.data, err)}
	case err != nil:
		return dataTrouble("open "+f.data, err)
	}
	if err := s.checkKind(); err != nil {
		return errors.Join(err, s.node.Close())
	}
	go s.checkSecret(secrets)
	s.lists = listKeeper{keeper.New(s.node, keeper.Config{
		Dir: f.ofacDir, Source: f.ofacSource, Every: f.ofacEvery, Dev: f.dev, Ran: rulebook.CountSync,
	}, s.log.Logger)}
	addresses, _ := border.ParseAddressForm(f.logAddresses) // checkSettings has read it.
	s.api, err = httpapi.New(httpapi.Deps{
		Flight: operations.Flight{Recorder: s.record, Newest: s.log.newest, Settings: f.shown, Commit: commit()}, Addresses: addresses,
		Jobs: datadir.NewShelf(filepath.Join(f.data, datadir.JobFolder)), Proposer: s.node, Published: s.node, Records: s.node, Lists: s.node, Operations: s.node, Neighbours: s.node.Neighbours(), Relay: relay{s.node},
		Backup: backup.Saver(s.node, f.data), BackupProblems: s.node.Neighbours().BackupProblems, Webhooks: s.openWebhooks(secrets), Secrets: secrets, Sync: s.lists, LoadList: keeper.EncodeFiles, JoinList: joinList, ListFiles: rulebook.ListsIn(filepath.Join(f.data, datadir.ListFolder)), AdminToken: token,
		Node: f.id, Version: version, Logger: s.log.Logger, LogLevel: s.log.level, TrustedProxies: trusted, Authorities: f.authorities,
		GatewayMap: f.gatewayDigest(), Witnesses: f.witness.parsed, LogPolicy: f.witness.policy, WitnessEvery: f.witness.every, Tracer: s.tracer, Calls: config.Calls,
	})
	if err != nil {
		return errors.Join(err, s.node.Close())
	}
	return s.openFront(secrets)
}

// bootstrapKey returns the first key of a new cluster; "": one is made up.
func bootstrapKey() (string, error) {
	key, err := secretOf("RAILGUARD_BOOTSTRAP_KEY")
	if err == nil && key != "" && len(key) < bootstrapKeyMin {
		err = usageError("RAILGUARD_BOOTSTRAP_KEY: at least %d characters (e.g. rg_live_ and random ones)", bootstrapKeyMin)
	}
	return key, err
}

// openCopies makes the runner of the cluster's own backups.
func (s *server) openCopies(secrets *seal.Secrets) error {
	passphrases, err := secrets.BackupPassphrases()
	s.copies = schedule.New(s.node, s.flags.data, &backup.Keys{Derived: passphrases}, s.log.With("node", s.flags.id))
	return err
}

// openFront puts the guests in front of the public API.
func (s *server) openFront(secrets *seal.Secrets) error {
	err := s.openCopies(secrets)
	var door *signin.Door
	if err == nil {
		door, err = s.flags.signIn.makeDoor(s.enterPerson, secrets, s.publicURL, s.log)
	}
	if err == nil {
		s.front, err = s.flags.addGuests(s.api.Handler(), s.api.AdminHandler(), secrets, door, s.publicURL, s.trustedPermits, s.log)
	}
	if err != nil {
		return errors.Join(err, s.node.Close())
	}
	return nil
}

// openWebhooks makes the sender of webhook events, which starts when the node serves.
func (s *server) openWebhooks(secrets *seal.Secrets) *webhooks.Sender {
	allow, _ := readNetworks("", s.flags.webhookNetworks) // Errors were reported by checkSettings.
	sender := webhooks.NewSender(webhooks.SenderConfig{Secrets: secrets, Version: version, Dev: s.flags.dev, Allow: allow})
	judges := edge.New(edge.Deps{Published: s.node, Records: s.node, Secrets: secrets, Node: s.flags.id, Version: version, Logger: s.log.Logger})
	s.hooks = webhooks.New(s.node, webhooks.NewReader(s.node, judges), sender.Send, s.log.Logger)
	return sender
}

// publicURL returns the address that credentials contain; "" before the cluster is formed.
func (s *server) publicURL() string {
	if genesis := s.node.Settings().Genesis; genesis != nil {
		return genesis.PublicURL
	}
	return ""
}

// makeConsole puts the officers' console in front of the public API.
func (f *serveFlags) makeConsole(api, uploads http.Handler, secrets *seal.Secrets, door *signin.Door) (*console.Console, error) {
	people := uploads
	if !f.consoleImport {
		uploads = nil
	}
	return console.New(console.Config{
		API: api, Uploads: uploads, People: people, Bundles: &bundleDoor{api: api, folder: f.data}, SignIn: door, Secrets: secrets, Secure: f.tlsCert != "" || strings.HasPrefix(f.publicURL, "https://"),
	})
}

// secretPatience is how long a node waits to catch up with its group when the state on its
// disk does not match its secret.
const secretPatience = 30 * time.Second

// checkSecret ends a node whose secret is not its cluster's: it could open no signing key and
// would take every token for foreign. The state on this disk may be older than an exchange of
// the secret, so the check is repeated once the node has caught up with the group. Until then
// the node is not ready. A node without state first has to replay its log, or to join.
func (s *server) checkSecret(secrets *seal.Secrets) {
	for s.node.Settings().Genesis == nil {
		select {
		case <-s.closing:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err := s.checkKind(); err != nil {
		s.failed <- err
		return
	}
	genesis := s.node.Settings().Genesis
	if secrets.Check(genesis.SecretCheck) == nil {
		return
	}
	wrong := fmt.Errorf("this is not the secret of cluster %s: set RAILGUARD_CLUSTER_SECRET to the one it was bootstrapped with, or to which it was exchanged", genesis.ClusterID)
	s.log.Info("the state on this disk is sealed under another cluster secret; asking the group for what has come since")
	ctx, cancel := context.WithTimeout(context.Background(), secretPatience)
	defer cancel()
	for {
		_, err := s.node.ReadIndex(ctx)
		switch {
		case secrets.Check(s.node.Settings().Genesis.SecretCheck) == nil:
			return
		case err == nil: // The node has applied all that the group has.
			s.failed <- usageError("%w", wrong)
			return
		case ctx.Err() != nil: // Not a usage error: the group may be away for a while, so a supervisor should try again.
			s.failed <- fmt.Errorf("%w (the state on this disk says so, and the group could not be asked for a newer one)", wrong)
			return
		}
		select {
		case <-s.closing:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// checkKind refuses flags that do not fit the kind of the cluster: a wrong clock outside of
// development, and --sandbox.
func (s *server) checkKind() error {
	genesis := s.node.Settings().Genesis
	if genesis == nil {
		return nil
	}
	return errors.Join(s.checkTestClock(genesis), s.checkSandbox(genesis))
}

// checkSandbox refuses --sandbox in a cluster that is no sandbox, and its absence in one that
// is.
func (s *server) checkSandbox(genesis *wire.Genesis) error {
	is := edge.IsSandbox(&fsm.Settings{Genesis: genesis})
	switch {
	case s.flags.sandbox && !is:
		return usageError("--sandbox: cluster %s is none, and is not made one", genesis.ClusterID)
	case !s.flags.sandbox && is:
		return usageError("cluster %s is a sandbox: start it with --sandbox", genesis.ClusterID)
	}
	return nil
}

// namesItself refuses to form a cluster without --public-url, because this node's own address
// would stand in every credential for good. It accepts a node that has data already.
func (f *serveFlags) namesItself() error {
	if _, err := os.Stat(filepath.Join(f.data, "node.json")); f.publicURL != "" || f.dev || err == nil {
		return nil
	}
	return usageError("--public-url is required to form a cluster: the address under which callers know the service stands in every credential for good")
}

// genesisOf returns a function that makes the cluster's first record once, so that a retried
// proposal is the same.
func genesisOf(f *serveFlags, secrets *seal.Secrets, firstKey string) (func() wire.Genesis, error) {
	publicURL := f.publicURL
	if publicURL == "" {
		publicURL = "http://" + f.http
		if f.tlsCert != "" {
			publicURL = "https://" + f.http
		}
	}
	issuer := "did:kya:" + f.issuer
	if f.sandbox {
		issuer = seal.SandboxIssuer
	}
	keyLength := seal.AdminKeyLength
	if f.testClock {
		keyLength = 0 // Whoever moves the clock by months must not lose the key with which to move it.
	}
	genesis, err := seal.NewGenesis(seal.GenesisOptions{
		Secrets: secrets, Issuer: issuer, PublicURL: strings.TrimRight(publicURL, "/"),
		APISecret: firstKey, APILength: keyLength, Dev: f.dev, TestClock: f.testClock,
	})
	if err != nil {
		return nil, usageError("bootstrap: %w", err)
	}
	return func() wire.Genesis { return genesis }, nil
}

// clusterSecret returns RAILGUARD_CLUSTER_SECRET. A node that forms a cluster of one may do
// without it; it generates and keeps a secret.
func clusterSecret(f *serveFlags) ([]byte, error) {
	secret, err := givenSecret(f)
	if err != nil || secret != "" {
		return []byte(secret), err
	}
	secret, err = keptSecret(filepath.Join(f.data, secretFile))
	return []byte(secret), err
}

// readSecrets returns the cluster secret, the other secrets by which nodes are authenticated,
// and all secrets together, to open what any of them has sealed.
func (f *serveFlags) readSecrets() (secret []byte, also [][]byte, all *seal.Secrets, err error) {
	if secret, err = clusterSecret(f); err != nil {
		return nil, nil, nil, err
	}
	also, old, err := f.readAcceptedSecrets()
	return secret, also, seal.NewSecrets(secret, slices.Concat(also, old)...), err
}

// readAcceptedSecrets returns the secrets that are accepted besides the current one: also
// authenticates other nodes and decrypts, while the cluster secret is exchanged on one node
// after the other; old only decrypts, for as long as something is sealed under it, and may be a
// phrase of before.
func (f *serveFlags) readAcceptedSecrets() (also, old [][]byte, err error) {
	for i, name := range []string{"RAILGUARD_CLUSTER_SECRET_ALSO", "RAILGUARD_CLUSTER_SECRET_OLD"} {
		text, err := secretOf(name)
		if err != nil {
			return nil, nil, err
		}
		for secret := range strings.Lines(text) {
			secret = strings.TrimSpace(secret)
			if i == 0 {
				if err := f.checkSecretForm(name, secret); err != nil {
					return nil, nil, err
				}
				also = append(also, []byte(secret))
				continue
			}
			if len(secret) < secretMin {
				return nil, nil, usageError("%s: at least %d bytes each, one a line", name, secretMin)
			}
			old = append(old, []byte(secret))
		}
	}
	return also, old, nil
}

// givenSecret returns the configured cluster secret; "" if the node keeps its own.
func givenSecret(f *serveFlags) (string, error) {
	secret, err := secretOf("RAILGUARD_CLUSTER_SECRET")
	if err != nil {
		return "", err
	}
	if secret != "" {
		return secret, f.checkSecretForm("RAILGUARD_CLUSTER_SECRET", secret)
	}
	if _, err := os.Stat(filepath.Join(f.data, secretFile)); err != nil && (f.bootstrapExpect != 1 || len(f.join) > 0) {
		return "", usageError("RAILGUARD_CLUSTER_SECRET is not set (only a cluster of one, --bootstrap-expect 1, may do without)")
	}
	return "", nil
}

// secretMin is the length of the shortest secret of a cluster that is thrown away, in bytes.
const secretMin = 16

// checkSecretForm returns an error for a cluster secret that somebody could guess. A cluster that
// is thrown away (--dev) may have any.
func (f *serveFlags) checkSecretForm(name, secret string) error {
	if seal.IsClusterSecret(secret) || f.dev && len(secret) >= secretMin {
		return nil
	}
	return usageError(`%s: not 32 random bytes in hex. Whoever reaches a node's port can guess a phrase. Make a secret with "railguard cluster-secret new"; a cluster that has a phrase exchanges it first, while it runs its present release: "The cluster secret" in docs/OPERATING.md`, name)
}

// keptSecret reads a secret file. On first use it generates the secret and the file (mode
// 0600).
func keptSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		if text := strings.TrimSpace(string(data)); len(text) >= 16 {
			return text, nil
		}
		return "", fmt.Errorf("%s: empty or too short", path)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	text := seal.NewClusterSecret()
	return text, datadir.ReplaceFile(filepath.Dir(path), filepath.Base(path), []byte(text+"\n"))
}

// dataTrouble wraps an error of the data folder. If permissions are wrong, as after a restore
// or a copy made by root, it says who must own the folder.
func dataTrouble(where string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w: the folder and all in it must belong to the user who runs the node (chown -R)", where, err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// leapMax translates the flag into the node's setting, as deadAfter does: "any distance" is 0 in
// the flag and below 0 in the setting.
func leapMax(flag time.Duration) engine.Time {
	if flag <= 0 {
		return -1
	}
	return engine.Time(flag)
}

// deadAfter translates the flag into the node's setting. "Never" is 0 in the flag and -1 in the
// setting.
func deadAfter(flag time.Duration) time.Duration {
	if flag <= 0 {
		return -1
	}
	return flag
}

// listKeeper is the keeper with its last report in the type that httpapi uses.
type listKeeper struct{ *keeper.Keeper }

func (k listKeeper) LastSync() rulebook.SyncReport { return rulebook.SyncReport(k.Keeper.LastSync()) }

// relay lets httpapi ask other nodes.
type relay struct{ node *cluster.Node }

func (r relay) Others() []string { return cluster.Others(r.node) }

func (r relay) Ask(ctx context.Context, node string, question []byte) ([]byte, error) {
	return cluster.Relay(ctx, r.node, node, question)
}

func (r relay) Answer(do func(context.Context, []byte) []byte) { cluster.OnRelay(r.node, do) }
