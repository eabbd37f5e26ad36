package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"railguard/cluster/report"
)

// Limits from which the doctor reports a warning or a fault.
const (
	clockWarn       = 200 * time.Millisecond // A node beyond clockBad is not ready.
	clockBad        = 500 * time.Millisecond
	clockHereWarn   = 5 * time.Second // Difference between this machine's clock and log time. Log time moves about once a second.
	certificateWarn = 30 * 24 * time.Hour
	fillWarn        = 0.8
	fillBad         = 0.95
	writeWarn       = 0.1 // Seconds, for the 99th percentile of durable writes.
	writeBad        = 0.5
	lagWarn         = 1000
	diskShareBad    = 10 // Per cent of free disk, for a node that is not healthy.
	diskShareWarn   = 5
	filesMin        = 4096 // A node itself needs some hundred; the rest are for its callers.
	filesRemedy     = "raise it: LimitNOFILE in its unit, or ulimit -n, to 65536"
)

const lookPatience = 5 * time.Second

// checkCluster checks the running cluster as the answering node sees it.
func (d *doctor) checkCluster(ctx context.Context) {
	var s report.ClusterStatus
	if err := d.readAnswer(ctx, "/v1/cluster/status", &s); err != nil {
		d.addFinding("cluster", levelBad, findRemedy(err, `see "First look" in docs/OPERATING.md`), "no status: %v", err)
		return
	}
	d.addFinding("quorum", levelIf(s.Writes.State == "no_quorum" || s.Leader == nil, s.Quorum.FailureTolerance == 0 || s.Writes.State != "ok"),
		"bring the missing nodes back or replace them; a cluster of one survives nothing", "writes %s, %d of %d voters healthy, survives the loss of %d",
		s.Writes.State, s.Quorum.Healthy, s.Quorum.Voters, s.Quorum.FailureTolerance)
	if at, err := time.Parse(time.RFC3339Nano, s.LogTime); err == nil && s.Writes.State == "ok" {
		off := d.now().Sub(at).Abs()
		d.addFinding("clock here", levelIf(false, off > clockHereWarn), "set this machine's clock, or the cluster's: mend NTP", "%s from the cluster's log time", off.Round(time.Millisecond))
	}
	var versions, lists []string
	for _, n := range s.Nodes {
		d.checkMember(&n)
		if version := n.Version; version != "" && !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
		if list := strconv.FormatUint(n.ListVersion, 10); n.Version != "" && !slices.Contains(lists, list) {
			lists = append(lists, list)
		}
	}
	d.addFinding("versions", levelIf(false, len(versions) > 1), "finish the upgrade: railguard cluster upgrade status", "%s", strings.Join(versions, ", "))
	d.addFinding("format", levelIf(false, s.FeatureLevel < s.MaxLevel), "when all nodes are upgraded: railguard cluster upgrade finalize", "%d, and the node asked could %d", s.FeatureLevel, s.MaxLevel)
	d.addFinding("list versions", levelIf(false, len(lists) > 1), "a node has not applied the newest list: look at its lag and its disk", "%s", strings.Join(lists, ", "))
	if s.Secret != nil {
		d.addFinding("cluster secret", levelIf(s.Secret.Lost > 0, !s.Secret.Free), `finish its exchange: "Keys" in docs/OPERATING.md`, "%s", resealingText(s.Secret))
	}
	for _, warning := range s.Warnings {
		d.addFinding("warning", levelWarn, `see "First look" in docs/OPERATING.md`, "%s", warning)
	}
	d.checkList(ctx)
	d.checkPersons(ctx)
}

// checkPersons checks whether the policy demands two persons for every act that one should not
// do alone.
func (d *doctor) checkPersons(ctx context.Context) {
	var answer struct {
		Policy struct {
			TwoPersons json.RawMessage `json:"twoPersons"`
		} `json:"policy"`
	}
	if err := d.readAnswer(ctx, "/v1/policy", &answer); err != nil {
		d.addFinding("two persons", levelOK, "", "not looked at: %v", err) // A key with the role ops alone may not read the policy.
		return
	}
	said := string(answer.Policy.TwoPersons)
	if said == "" {
		said = "the default"
	}
	d.addFinding("two persons", levelIf(false, said != `"bank"`), `one person may do alone what an institution wants two for: put "twoPersons": "bank" into the policy, and name the person in each key ("Two persons" in docs/API.md)`, "the policy's twoPersons is %s", said)
}

// checkMember checks one node of a cluster status.
func (d *doctor) checkMember(n *report.NodeStatus) {
	if n.Version == "" && n.Role != "leader" {
		d.addFinding("node "+n.ID, levelBad, "start it again, or replace it; see its log and exit code", "%s does not answer the node asked", n.Addr)
		return
	}
	d.addFinding("node "+n.ID, levelIf(!n.Healthy, n.Lag > lagWarn), "look at its log, its disk and its network", "%s, lag %d, version %s", n.Role, n.Lag, n.Version)
	if n.Role == "unreachable" {
		return // What it said of its clock and disk is of another time.
	}
	skew := (time.Duration(n.ClockSkewMs) * time.Millisecond).Abs()
	d.addFinding("clock "+n.ID, levelIf(skew > clockBad, skew > clockWarn), "mend NTP on that machine: a node further off than 500 ms is not ready", "%s off", skew)
	// A tenth of a large disk is still much, so this is a warning while the node is healthy.
	d.addFinding("disk "+n.ID, levelIf(!n.Healthy && n.DiskFreePct >= 0 && n.DiskFreePct < diskShareBad, n.DiskFreePct < diskShareWarn), `make room: "Disk" in docs/OPERATING.md`, "%d %% free", n.DiskFreePct)
}

// readAnswer fetches one answer and decodes it.
func (d *doctor) readAnswer(ctx context.Context, path string, into any) error {
	data, err := d.fetchAnswer(ctx, &call{method: http.MethodGet, path: path})
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// checkList checks the active list: its age, what it lacks, and whether fetching works.
func (d *doctor) checkList(ctx context.Context) {
	var answer struct {
		Active *struct {
			Source      string   `json:"source"`
			Age         int64    `json:"ageSeconds"`
			Published   int64    `json:"publicationAgeSeconds"`
			Stale       bool     `json:"stale"`
			Sample      bool     `json:"sample"`
			Missing     []string `json:"missing"`
			Quarantined int      `json:"quarantined"`
		} `json:"active"`
		Sync struct {
			Node  string  `json:"node"`
			Error *string `json:"error"`
		} `json:"sync"`
	}
	if err := d.readAnswer(ctx, "/v1/ofac", &answer); err != nil {
		d.addFinding("list", levelWarn, findRemedy(err, "give a key without an operator"), "not read: %v", err)
		return
	}
	if why := answer.Sync.Error; why != nil && *why != "" {
		d.addFinding("list sync", levelWarn, `"A fetch that fails" in docs/OPERATING.md, "Sanctions lists"`, "of %s: %s", answer.Sync.Node, *why)
	}
	list := answer.Active
	if list == nil {
		d.addFinding("list", levelBad, `import one: "Sanctions lists" in docs/OPERATING.md`, "none: no verdict is given")
		return
	}
	d.addFinding("list", levelIf(false, list.Stale), `import or sync it, and see why it was not fetched: "Sanctions lists" in docs/OPERATING.md`, "%s, synced %s ago, published %d days ago", list.Source, time.Duration(list.Age)*time.Second, list.Published/86400)
	if len(list.Missing) > 0 || list.Quarantined > 0 {
		d.addFinding("list whole", levelBad, "import the complete files: nobody who is missing is found", "lacks the families %v; %d malformed entities were left out", list.Missing, list.Quarantined)
	}
	if list.Sample {
		d.addFinding("list sample", levelWarn, "import OFAC's published files: the sample is useless for compliance", "the list in force is the small sample")
	}
}

// checkReady asks an address whether it takes calls. Only who shows a key hears why not.
func (d *doctor) checkReady(ctx context.Context, base string) {
	check := "ready " + hostOf(base)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/readyz", nil)
	if err != nil {
		d.addFinding(check, levelBad, "write the address as http://HOST:PORT or https://HOST:PORT", "%v", err)
		return
	}
	if d.key != "" {
		request.Header.Set("Authorization", "Bearer "+d.key)
	}
	response, err := d.http.Do(request)
	if err != nil {
		d.addFinding(check, levelBad, findRemedy(err, "start the node, or see what is between: it does not answer"), "%v", err)
		return
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, readyTextMax))
	if err != nil {
		d.addFinding(check, levelBad, "see what is between: the answer broke off", "%v", err)
		return
	}
	if response.StatusCode == http.StatusOK {
		d.addFinding(check, levelOK, "", "takes calls")
		return
	}
	told := false
	for line := range strings.Lines(string(text)) {
		if why, failing := strings.CutPrefix(strings.TrimSpace(line), "[-]"); failing {
			told = true
			d.addFinding(check, levelBad, `"Readiness" in docs/OPERATING.md`, "takes no calls: %s", why)
		}
	}
	if !told {
		said := &exitError{code: exitFailed, status: response.StatusCode, err: fmt.Errorf("%d %s", response.StatusCode, strings.TrimSpace(string(text)))}
		d.addFinding(check, levelBad, findRemedy(said, "see whether a node answers there"), "takes no calls: %v", said)
	}
}

const readyTextMax = 64 << 10

func hostOf(base string) string {
	_, host, found := strings.Cut(base, "://")
	if !found {
		return base
	}
	return strings.TrimRight(host, "/")
}

// findRemedy says what to do about a call that failed.
func findRemedy(err error, otherwise string) string {
	refused := new(exitError)
	status := 0
	if errors.As(err, &refused) {
		status = refused.status
	}
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		lookup    *net.DNSError
	)
	text := err.Error()
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "give a key with the role ops and no operator (RAILGUARD_KEY_FILE); of a node that is not ready: mend that first"
	case strings.Contains(text, "HTTP request to an HTTPS server"):
		return "write https:// before the address"
	case strings.Contains(text, "HTTP response to HTTPS client"):
		return "write http:// before the address"
	case errors.As(err, &authority):
		return "give --ca the file with the authority that issued its certificate; else somebody else answers there"
	case errors.As(err, &name):
		return "ask it by a name that its certificate is for, or issue one for this name"
	case errors.As(err, &invalid):
		return "renew its certificate, or set this machine's clock"
	case strings.Contains(text, "remote error: tls:"):
		return "give --cert and --cert-key a certificate that is good, by an authority of its --admin-ca"
	case errors.As(err, &lookup):
		return "mend the name, or the DNS that this machine asks"
	}
	return otherwise
}

// checkServedCertificate checks the dates of the certificate that an https address serves. It
// does not check whether the certificate is trusted: the calls do that.
func (d *doctor) checkServedCertificate(ctx context.Context, base string) {
	address, err := url.Parse(base)
	if err != nil || address.Scheme != "https" {
		return
	}
	host := address.Host
	if address.Port() == "" {
		host = net.JoinHostPort(address.Hostname(), "443")
	}
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	dialer := &tls.Dialer{Config: &tls.Config{ServerName: address.Hostname(), InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} //nolint:gosec // Only dates are read, of expired ones too; nothing is sent.
	connection, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		d.addFinding("TLS", levelBad, "see whether a node, or the balancer, listens there with TLS", "%s: %v", base, err)
		return
	}
	defer connection.Close()
	if secured, ok := connection.(*tls.Conn); ok {
		d.checkDates("TLS "+address.Host, secured.ConnectionState().PeerCertificates[0])
	}
}

func (d *doctor) checkNode(ctx context.Context, address string) {
	one := d.client
	one.admin = []string{address}
	data, err := one.fetchAnswer(ctx, &call{method: http.MethodGet, path: "/metrics", admin: true})
	if err != nil {
		d.addFinding("admin "+hostOf(address), levelBad, findRemedy(err, "start the node, or name the address of its admin listener"), "%v", err)
		return
	}
	m := readMetrics(strings.NewReader(string(data)))
	where := hostOf(address)
	if level, known := m.findOne("railguard_cluster_disk_level"); known {
		free, _ := m.findOne("railguard_cluster_disk_free_bytes")
		d.addFinding("disk "+where, levelIf(level >= 2, level != 0), `make room, or look by hand where it is not known: "Disk" in docs/OPERATING.md`, "%.0f MiB free", free/(1<<20))
	}
	if open, most := m["process_open_fds"], m["process_max_fds"]; most > 0 {
		d.addFinding("files "+where, levelIf(open >= fillBad*most, open >= fillWarn*most || most < filesMin), filesRemedy+"; where it is that high, see who holds connections", "%.0f of %.0f files and connections that it may have open", open, most)
	}
	if p99, known := m.findQuantile("railguard_cluster_log_write_seconds", 0.99); known {
		d.addFinding("writes "+where, levelIf(p99 > writeBad, p99 > writeWarn), "a faster disk, or fewer neighbours on it", "99 of 100 were durable within %g s", p99)
	}
	for _, label := range m.sortedLabels("railguard_cluster_certificate_expires_seconds") {
		left := time.Duration(m[label]) * time.Second
		d.addFinding("port "+where, levelIf(left <= 0, left < certificateWarn), `renew it: "The port between nodes" in docs/OPERATING.md`, "its certificate between nodes is good for %s", daysText(left))
	}
	for _, label := range m.sortedLabels("railguard_state_rows") {
		most := m[strings.Replace(label, "railguard_state_rows", "railguard_state_rows_max", 1)]
		part := m[label] / most
		if table := textBetween(label, `table="`, `"`); most > 0 {
			d.addFinding("table "+table, levelIf(part >= fillBad, part >= fillWarn), `what goes beyond is refused: "Limits" in docs/OPERATING.md`, "%.0f of %.0f rows (%.0f %%) on %s", m[label], most, 100*part, where)
		}
	}
}

// samples maps the name of a metric with its labels to its value.
type samples map[string]float64

func readMetrics(from io.Reader) samples {
	all := samples{}
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		cut := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || cut < 0 {
			continue
		}
		if value, err := strconv.ParseFloat(line[cut+1:], 64); err == nil {
			all[line[:cut]] = value
		}
	}
	return all
}

// findOne returns the only sample of a metric family.
func (s samples) findOne(family string) (value float64, known bool) {
	for _, label := range s.sortedLabels(family) {
		return s[label], true
	}
	return 0, false
}

// sortedLabels returns the names, with labels, of a family's samples, sorted.
func (s samples) sortedLabels(family string) []string {
	var all []string
	for name := range s {
		if name == family || strings.HasPrefix(name, family+"{") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// findQuantile returns the upper bound of the histogram bucket that contains the quantile,
// over all labels of a family.
func (s samples) findQuantile(family string, q float64) (bound float64, known bool) {
	buckets := map[float64]float64{}
	for _, name := range s.sortedLabels(family + "_bucket") {
		if le, err := strconv.ParseFloat(textBetween(name, `le="`, `"`), 64); err == nil {
			buckets[le] += s[name]
		}
	}
	total := buckets[math.Inf(1)]
	if total == 0 {
		return 0, false
	}
	bound = math.Inf(1)
	for le, count := range buckets {
		if count >= q*total {
			bound = min(bound, le)
		}
	}
	return bound, true
}

func textBetween(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	inner, _, _ := strings.Cut(rest, after)
	return inner
}
