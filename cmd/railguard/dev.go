package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/datadir"
	"railguard/seal"
)

type devFlags struct {
	nodes, httpBase int
	data, ofacDir   string
	testClock       bool
	tls             bool
	sandbox, mcp    bool
	x402Upstream    string
	gatewayMap      string
}

// devFile is DATA/dev.json: what other programs need to use the cluster.
type devFile struct {
	APIKey string    `json:"apiKey"`
	Nodes  []devNode `json:"nodes"`
}

type devNode struct {
	ID      string `json:"id"`
	PID     int    `json:"pid"`
	HTTP    string `json:"http"`
	Admin   string `json:"admin"`
	Cluster string `json:"cluster"`
}

// The wallet and the name in the printed example calls. Both are on the sample list and on
// every real SDN list since 2022 (Lazarus Group's wallet of the Ronin theft; Nicolás Maduro
// Moros).
const (
	demoWallet = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"
	demoName   = "Nicolas Maduro Moros"
)

const devReadyWait = 2 * time.Minute // Most of it is for loading a real list on a slow machine.

func newDev() *cobra.Command {
	f := &devFlags{}
	cmd := &cobra.Command{
		Use: "dev", Short: "Run a throw-away cluster on this machine, with a sample list", GroupID: "server", Args: cobra.NoArgs,
		Long: `Run real server processes on this machine, print the address, an API key and
calls to try. Ctrl-C stops all of them. The data stays in --data for the next run.

Without --ofac-dir the sanctions list is a small embedded SAMPLE: good for a
first look, useless for compliance.`,
		Example: "  railguard dev\n  railguard dev --nodes 3 --data ./railguard-data --http-base 8080 --test-clock",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settleFlags(cmd); err != nil {
				return err
			}
			return runDev(cmd.Context(), f, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.nodes, "nodes", 1, "how many nodes (1 to 5)")
	flags.StringVar(&f.data, "data", "railguard-data", "folder for everything")
	flags.IntVar(&f.httpBase, "http-base", 8080, "API port of the first node; admin listeners are 100, cluster ports 200 above")
	flags.StringVar(&f.ofacDir, "ofac-dir", "", "folder with OFAC's published files instead of the sample")
	flags.BoolVar(&f.testClock, "test-clock", false, "serve POST /v1/test/clock")
	flags.BoolVar(&f.tls, "tls", false, "the nodes know each other by certificates (DATA/tls) instead of the cluster secret")
	flags.BoolVar(&f.sandbox, "sandbox", false, "a sandbox: its own issuer, rg_test_ keys, and every answer there is to a counterparty's name that asks for it (docs/sandbox.md)")
	flags.BoolVar(&f.mcp, "mcp", false, "every node answers at /mcp (docs/mcp.md)")
	flags.StringVar(&f.x402Upstream, "x402-upstream", "", "the x402 facilitator behind: every node answers at /x402 (docs/x402.md)")
	flags.StringVar(&f.gatewayMap, "gateway-map", "", "what requests of a gateway pay: every node answers at /ext-authz (docs/gateway.md)")
	cmd.AddCommand(newDevVerbs()...)
	return cmd
}

// devCluster is a running development cluster: one child process for each node.
type devCluster struct {
	flags    *devFlags
	secret   string
	mutex    sync.Mutex // Guards file and children once listenForWords runs.
	file     devFile
	children []*devChild
	exited   chan string // Ids of children that ended.
}

type devChild struct {
	*exec.Cmd
	done chan struct{}
}

func runDev(ctx context.Context, f *devFlags, out io.Writer) error {
	runtime.LockOSThread() // On Linux, children end when the thread that started them ends.
	if f.nodes < 1 || f.nodes > 5 {
		return usageError("--nodes must be between 1 and 5")
	}
	if f.tls && f.nodes < 2 {
		return usageError("--tls is for the port between nodes: give --nodes 2 or more")
	}
	if f.httpBase < 1024 || f.httpBase+210 > 65535 {
		return usageError("--http-base must be between 1024 and 65325")
	}
	if err := (&guestFlags{x402Upstream: f.x402Upstream, gatewayFile: f.gatewayMap}).checkSettings(); err != nil {
		return err
	}
	if err := os.MkdirAll(f.data, 0o700); err != nil {
		return usageError("--data: %w", err)
	}
	if devRuns(f.data) {
		return usageError("a development cluster runs on %s already: stop it, or choose another --data", f.data)
	}
	c := &devCluster{flags: f, exited: make(chan string, 64)}
	if err := c.planAddresses(); err != nil {
		return err
	}
	described := filepath.Join(f.data, "dev.json") // This file exists only while the cluster runs.
	_ = os.Remove(described)
	defer os.Remove(described)
	defer c.stopNodes()
	if err := c.startNodes(); err != nil {
		return err
	}
	fmt.Fprintf(out, "Starting %d node(s); data and logs in %s\n", f.nodes, f.data)
	if err := c.waitReady(ctx); err != nil {
		return err
	}
	if err := c.writeFile(); err != nil {
		return err
	}
	if control, err := c.listenForWords(); err == nil {
		defer control.Close()
	} else { // For example, the path is too long for a socket. The cluster runs all the same.
		fmt.Fprintf(out, "railguard dev kill, stop and start will not work: %v\n", err)
	}
	c.printWelcome(out)
	return c.watchNodes(ctx, out)
}

// watchNodes returns when ctx is done. It prints a line when a node ends; the other nodes go
// on.
func (c *devCluster) watchNodes(ctx context.Context, out io.Writer) error {
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(out, "\nStopping.")
			return nil
		case id := <-c.exited:
			fmt.Fprintf(out, "Node %s ended (log: %s). Start it again: railguard dev start %s --data %s\n", id, c.logPath(id), id, c.flags.data)
		}
	}
}

func (c *devCluster) logPath(id string) string { return filepath.Join(c.flags.data, id, "node.log") }

const (
	devWordsMax = 2048     // Bytes at the end of a node's log that lastWords reads.
	devRoom     = 32 << 20 // With less free space a node can write nothing, not even why it ends.
)

// lastWords returns why a node ended, as far as its log or a full disk shows it.
func (c *devCluster) lastWords(id string) string {
	if free, _, err := datadir.FreeSpace(c.flags.data); err == nil && free < devRoom {
		return fmt.Sprintf(": the disk of %s is full (%d MiB free): make room, or choose another --data", c.flags.data, free>>20)
	}
	file, err := os.Open(c.logPath(id))
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > devWordsMax {
		_, _ = file.Seek(-devWordsMax, io.SeekEnd) // If this fails, the log is read from its beginning.
	}
	data, _ := io.ReadAll(io.LimitReader(file, devWordsMax))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	last := lines[len(lines)-1]
	if words, said := strings.CutPrefix(last, "railguard: "); said {
		return ": " + words
	}
	if _, reason, said := strings.Cut(last, "reason="); said && strings.Contains(last, "level=ERROR") {
		return ": " + strings.Trim(reason, `"`)
	}
	return ""
}

// planAddresses gives the nodes their addresses and checks that these are free, before
// anything is written.
func (c *devCluster) planAddresses() error {
	for i := range c.flags.nodes {
		node := devNode{ID: "n" + strconv.Itoa(i+1), HTTP: c.addressAt(i), Admin: c.addressAt(100 + i), Cluster: c.addressAt(200 + i)}
		for _, address := range []string{node.HTTP, node.Admin, node.Cluster} {
			if err := portFree(address); err != nil {
				return usageError("%w: is another railguard running? stop it, or choose another --http-base", err)
			}
		}
		c.file.Nodes = append(c.file.Nodes, node)
	}
	return nil
}

func (c *devCluster) addressAt(offset int) string {
	return "127.0.0.1:" + strconv.Itoa(c.flags.httpBase+offset)
}

func (c *devCluster) startNodes() error {
	key, err := keptDevKey(filepath.Join(c.flags.data, "dev.key"), c.flags.sandbox)
	if err != nil {
		return err
	}
	secret, err := keptSecret(filepath.Join(c.flags.data, secretFile))
	if err != nil {
		return err
	}
	c.file.APIKey, c.secret = key, secret
	if err := c.issueCertificates(time.Now()); err != nil {
		return err
	}
	for i := range c.file.Nodes {
		child, err := c.spawnNode(&c.file.Nodes[i])
		if err != nil {
			return err
		}
		c.children = append(c.children, child)
	}
	return nil
}

func portFree(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s is taken", address)
	}
	return listener.Close()
}

func (c *devCluster) spawnNode(node *devNode) (*devChild, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(c.flags.data, node.ID)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(c.logPath(node.ID), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	child := exec.Command(binary, c.serveArguments(node, folder)...)
	child.Stdout, child.Stderr = log, log
	child.Env = append(os.Environ(), "RAILGUARD_CLUSTER_SECRET="+c.secret, "RAILGUARD_BOOTSTRAP_KEY="+c.file.APIKey)
	inOwnGroup(child) // Ctrl-C on the terminal does not reach the children: stopNodes ends them in order.
	if err := child.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	node.PID = child.Process.Pid
	running := &devChild{Cmd: child, done: make(chan struct{})}
	go func(id string) {
		_ = child.Wait()
		_ = log.Close()
		close(running.done)
		c.exited <- id
	}(node.ID)
	return running, nil
}

func (c *devCluster) serveArguments(node *devNode, folder string) []string {
	args := []string{"serve", "--dev", "--leap-max", "0", "--id", node.ID, "--data", folder, "--http", node.HTTP, "--admin", node.Admin,
		"--bootstrap-expect", strconv.Itoa(len(c.file.Nodes)), "--public-url", "http://" + c.addressAt(0)}
	if len(c.file.Nodes) > 1 {
		var peers []string
		for _, peer := range c.file.Nodes {
			peers = append(peers, peer.Cluster)
		}
		args = append(args, "--cluster", node.Cluster, "--join", strings.Join(peers, ","))
		args = append(args, c.certificateFlags(node)...)
	}
	if c.flags.sandbox {
		args = append(args, "--sandbox")
	}
	if c.flags.mcp {
		args = append(args, "--mcp")
	}
	if c.flags.x402Upstream != "" {
		args = append(args, "--x402-upstream", c.flags.x402Upstream)
	}
	if c.flags.gatewayMap != "" {
		args = append(args, "--gateway-map", c.flags.gatewayMap)
	}
	if c.flags.testClock {
		args = append(args, "--test-clock")
	}
	if c.flags.ofacDir != "" {
		args = append(args, "--ofac-dir", c.flags.ofacDir)
	}
	return args
}

// waitReady waits until every node's /readyz is 200.
func (c *devCluster) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, devReadyWait)
	defer cancel()
	for _, node := range c.file.Nodes {
		for {
			ready, text := askReady(ctx, node.HTTP)
			if ready {
				break
			}
			select {
			case <-ctx.Done():
				return &exitError{code: exitAway, err: fmt.Errorf("node %s is not ready: %s; see %s", node.ID, text, c.logPath(node.ID))}
			case id := <-c.exited:
				return &exitError{code: exitFatal, err: fmt.Errorf("node %s ended while starting%s; see %s", id, c.lastWords(id), c.logPath(id))}
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}

func askReady(ctx context.Context, address string) (bool, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return false, err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, "not answering yet"
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	return response.StatusCode == http.StatusOK, strings.TrimSpace(string(body))
}

func (c *devCluster) writeFile() error {
	data, err := json.MarshalIndent(&c.file, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(c.flags.data, "dev.json")
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// stopNodes ends the children in reverse order. It kills those that do not end in time.
func (c *devCluster) stopNodes() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := len(c.children) - 1; i >= 0; i-- {
		_ = c.children[i].Process.Signal(os.Interrupt)
	}
	deadline := time.After(20 * time.Second)
	for _, child := range c.children {
		select {
		case <-child.done:
		case <-deadline:
			_ = child.Process.Kill()
			<-child.done
		}
	}
}

// keptDevKey is the development cluster's API key, the same on every run.
func keptDevKey(path string, sandbox bool) (string, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	key := seal.NewAPISecret()
	if sandbox {
		key = seal.NewTestSecret()
	}
	return key, os.WriteFile(path, []byte(key+"\n"), 0o600)
}

func (c *devCluster) printWelcome(out io.Writer) {
	list := "SANCTIONS LIST: a small embedded SAMPLE, not a published list. Good for a look, useless for compliance.\n"
	if c.flags.ofacDir != "" {
		list = "Sanctions list: the files in " + c.flags.ofacDir + ".\n"
	}
	url := "http://" + c.file.Nodes[0].HTTP
	if c.flags.sandbox {
		list += "SANDBOX: a counterparty called SANDBOX R7, or SANDBOX no_quorum, brings out that rule, or that 503 (docs/sandbox.md).\n"
	}
	if c.flags.mcp {
		list += "Tools for agents (MCP, docs/mcp.md): " + url + "/mcp\n"
	}
	if c.flags.x402Upstream != "" {
		list += "The facilitator's URL for x402 resource servers (docs/x402.md): " + url + "/x402\n"
	}
	if c.flags.gatewayMap != "" {
		list += "What a gateway asks (docs/gateway.md): " + url + "/ext-authz/PROFILE/...\n"
	}
	fmt.Fprintf(out, welcomeText, list, url, url, c.file.APIKey, demoWallet, demoName)
}

const welcomeText = `
Railguard is ready.
%s
In a browser, signed in with the key below: %s/console

Paste these lines into another terminal (curl and a POSIX shell):

  export RAILGUARD_URL=%s
  export RAILGUARD_KEY=%s

  # 1. Register an agent and keep its credential.
  TOKEN=$(curl -s $RAILGUARD_URL/v1/agents/register -H "Authorization: Bearer $RAILGUARD_KEY" \
    -d '{"agentName":"demo","agentType":"supervised","operatorLegalName":"Acme Robotics Inc","purpose":"pay invoices","spendPolicy":{"maxSingleTxUSDC":5000}}' \
    | sed 's/.*"token":"\([^"]*\)".*/\1/')

  # 2. A clean payment that says who pays, who is paid, and where: PROCEED.
  curl -s $RAILGUARD_URL/v1/screen -H "Authorization: Bearer $RAILGUARD_KEY" -d "{\"token\":\"$TOKEN\",\"amount\":100,\"payerWallet\":\"0x1111111111111111111111111111111111111111\",\"cpName\":\"Corner Bakery\",\"cpCountry\":\"FR\"}"

  # 3. A payment to a listed wallet: BLOCK R6.
  curl -s $RAILGUARD_URL/v1/screen -H "Authorization: Bearer $RAILGUARD_KEY" -d "{\"token\":\"$TOKEN\",\"amount\":100,\"chain\":\"ETH\",\"cpWallet\":\"%s\"}"

  # 4. A payment to a listed name: BLOCK R7.
  curl -s $RAILGUARD_URL/v1/screen -H "Authorization: Bearer $RAILGUARD_KEY" -d "{\"token\":\"$TOKEN\",\"amount\":100,\"cpName\":\"%s\"}"

  # 5. A payment into an embargoed country: BLOCK R24.
  curl -s $RAILGUARD_URL/v1/screen -H "Authorization: Bearer $RAILGUARD_KEY" -d "{\"token\":\"$TOKEN\",\"amount\":100,\"cpName\":\"Corner Bakery\",\"cpCountry\":\"Iran\"}"

Ctrl-C stops everything.
`

// issueCertificates gives every node of a development cluster with --tls a certificate of the
// cluster's own authority. On later runs it issues a new certificate for the same key.
func (c *devCluster) issueCertificates(now time.Time) error {
	if !c.flags.tls {
		return nil
	}
	dir := c.authorityFolder()
	if _, err := os.Stat(filepath.Join(dir, authorityFile)); errors.Is(err, os.ErrNotExist) {
		if _, err := makeAuthority(dir, "railguard dev", authorityDays, now); err != nil {
			return err
		}
	}
	for i := range c.file.Nodes {
		f := issueFlags{dir: dir, id: c.file.Nodes[i].ID, days: certificateDays}
		_, err := os.Stat(filepath.Join(dir, f.id+".pem"))
		f.renew = err == nil
		if _, err := f.issueCertificate(now); err != nil {
			return err
		}
	}
	return nil
}

func (c *devCluster) authorityFolder() string { return filepath.Join(c.flags.data, "tls") }

// certificateFlags returns the flags that name a node's certificate, key and authority.
func (c *devCluster) certificateFlags(node *devNode) []string {
	if !c.flags.tls {
		return nil
	}
	path := filepath.Join(c.authorityFolder(), node.ID)
	return []string{"--cluster-cert", path + ".pem", "--cluster-key", path + ".key", "--cluster-ca", filepath.Join(c.authorityFolder(), authorityFile)}
}
