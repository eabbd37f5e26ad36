package redteam

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"railguard/bench/conformance"
)

// guessed: a phrase is no cluster secret (T27).
func (w *world) guessed(e conformance.Examiner) {
	for _, secret := range []string{"correct horse battery staple", "a-phrase-of-twenty-bytes"} {
		command := exec.CommandContext(e.Context(), w.binary, "serve", "--id", "n1", "--data", filepath.Join(w.files, e.Name("guessed")), "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--bootstrap-expect", "1", "--public-url", "https://guard.example.org")
		command.Env = append(os.Environ(), "RAILGUARD_CLUSTER_SECRET="+secret, "RAILGUARD_BOOTSTRAP_KEY=", "RAILGUARD_OFAC_SOURCE=")
		said := new(strings.Builder)
		command.Stdout, command.Stderr = said, said
		e.Must(command.Start() == nil, "the stage: serve does not start")
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		select {
		case err := <-ended:
			e.Expect(err != nil && strings.Contains(said.String(), "secret"), "with %q the node ends with: %v %.200s", secret, err, said)
		case <-time.After(8 * time.Second):
			_ = command.Process.Kill()
			<-ended
			e.Expect(false, "a node starts with the cluster secret %q", secret)
		}
	}
}

// raw makes a call on the admin listener with the Host of a page that rebinds its name.
func raw(e conformance.Examiner, base, host, path string) (status int, body string) {
	call, err := http.NewRequestWithContext(e.Context(), http.MethodGet, base+path, nil)
	e.Must(err == nil, "BUG: %v", err)
	call.Host = host
	answer, err := http.DefaultClient.Do(call)
	e.Must(err == nil, "the stage: %v", err)
	defer answer.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, string(data)
}

// rebound: a web page whose name was bound to this machine reads nothing on the admin listener (T34).
func (w *world) rebound(e conformance.Examiner) {
	for _, path := range []string{"/metrics", "/debug/pprof/cmdline", "/debug/pprof/heap", "/admin/log-level"} {
		for _, host := range []string{"evil.example", "evil.example:8180", "127.0.0.1.evil.example"} {
			status, body := raw(e, w.admin, host, path)
			e.Expect(status >= 400, "%s for Host %s: %d %.60q", path, host, status, body)
		}
		if status, _ := raw(e, w.admin, strings.TrimPrefix(w.admin, "http://"), path); path == "/metrics" {
			e.Expect(status == 200, "%s for the listener's own host: %d", path, status)
		}
	}
}

// told: strangers hear whether a node is ready, and not who leads, votes or how full a disk is (T37).
func (w *world) told(e conformance.Examiner) {
	for _, base := range w.bases {
		for _, path := range []string{"/readyz", "/v1/health", "/livez"} {
			revealing := regexp.MustCompile(`(?i)leader|voter|peer|disk|term|raft|kv:`)
			if path == "/v1/health" { // The specification gives it the list's source.
				revealing = regexp.MustCompile(`(?i)leader|role|voter|peer|disk|raft`)
			}
			a := e.Call(conformance.Sent{Method: "GET", Path: path, Base: base})
			found := revealing.FindString(string(a.Raw))
			e.Expect(found == "", "%s tells strangers of %s: %.160s", path, found, a.Raw)
		}
	}
}

// signIn tries to sign in to the console.
func (w *world) signIn(e conformance.Examiner, body string) *conformance.Answer {
	return e.Call(conformance.Sent{Method: "POST", Path: "/console/session", Body: body, Keep429: true, Header: map[string]string{"Content-Type": "application/json", "Origin": w.bases[0], "Sec-Fetch-Site": "same-origin"}})
}

// doubledKey: the sign-in reads its body as strictly as every other call (T35).
func (w *world) doubledKey(e conformance.Examiner) {
	key := w.house.keys["reviewer"]
	for _, body := range []string{`{"key":"x","key":"` + key + `"}`, `{"KEY":"` + key + `"}`, `{"key":"` + key + `","more":1}`, `{"key":"` + key + `"}{}`} {
		a := w.signIn(e, body)
		e.Expect(a.Refused() && a.Header.Get("Set-Cookie") == "", "a sign-in with %.20s… is %d", body, a.Status)
	}
	a := w.signIn(e, `{"key":"`+key+`"}`)
	e.Expect(a.OK() && a.Header.Get("Set-Cookie") != "", "the stage: nobody can sign in: %d %s", a.Status, a.Raw)
}

// cookieOf is the cookie of a session.
func cookieOf(a *conformance.Answer) string {
	cookie, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	return cookie
}

// signedOut: after the sign-out, or the end of its key, an old cookie opens nothing (T25).
func (w *world) signedOut(e conformance.Examiner) {
	cookie, token := "", ""
	own := func(method, path string) *conformance.Answer {
		return e.Call(conformance.Sent{Method: method, Path: path, Header: map[string]string{"Cookie": cookie, "X-Railguard-Console-Token": token, "Origin": w.bases[0], "Sec-Fetch-Site": "same-origin"}})
	}
	read := func() int { return own("GET", "/console/api/queue").Status }
	made := w.tryKey(e, nil, nil, "reviewer")
	e.Must(made.OK(), "the stage: %s", made.Raw)
	w.awaitKey(e, nil, made.Text("key"))
	for _, end := range []string{"sign-out", "rotation", "revocation"} {
		signed := w.signIn(e, `{"key":"`+made.Text("key")+`"}`)
		cookie, token = cookieOf(signed), signed.Text("token")
		e.Must(cookie != "", "the stage: no session: %d %s", signed.Status, signed.Raw)
		e.Must(read() < 400, "the stage: a session does not read: %d", read())
		switch end {
		case "sign-out":
			a := own("DELETE", "/console/session")
			e.Must(a.OK(), "the stage: the sign-out is %d %s", a.Status, a.Raw)
		case "rotation":
			made = e.Call(conformance.Sent{Method: "POST", Path: "/admin/keys/" + made.Text("keyId") + "/rotate", Key: w.root, Base: w.admin, Body: obj{}})
			w.awaitKey(e, nil, made.Text("key"))
		case "revocation":
			e.Call(conformance.Sent{Method: "DELETE", Path: "/admin/keys/" + made.Text("keyId"), Key: w.root, Base: w.admin})
		}
		status := 200
		for began := time.Now(); status < 400 && time.Since(began) < spreadMax; time.Sleep(20 * time.Millisecond) {
			status = read()
		}
		e.Expect(status == 401 || status == 403, "after the %s the old cookie reads: %d", end, status)
	}
}

// wrongKeys: who guesses keys at the sign-in is slowed down (T37).
func (w *world) wrongKeys(e conformance.Examiner) {
	braked := 0
	for range 300 {
		if w.signIn(e, `{"key":"rg_live_`+newWord("")+newWord("")+newWord("")+`0000"}`).Status == http.StatusTooManyRequests {
			braked++
		}
	}
	e.Expect(braked > 100, "of 300 wrong keys at once %d were turned away", braked)
}

// spreadsheet: no cell of a CSV begins a formula, in full width neither (T36).
func (w *world) spreadsheet(e conformance.Examiner) {
	for _, name := range []string{"=1+1", "+1", "-1+2", "@SUM(1)", "＝1+1", "＋1", "－1", "＠SUM(1)", "\t=1", " =1+1"} {
		raw, _ := json.Marshal(name + " Payee")
		w.must(e, w.house.keys["screener"], "POST", "/v1/screen", `{"token":"`+w.house.owned["token"]+`","amount":1,"cpName":`+string(raw)+`}`)
	}
	a := w.must(e, w.house.keys["auditor"], "GET", "/v1/audit/export?format=csv", nil)
	lines := bufio.NewScanner(strings.NewReader(string(a.Raw)))
	dangerous := regexp.MustCompile(`(^|,)"?[=@＝＋－＠\t][^,]`)
	for lines.Scan() {
		found := dangerous.FindString(lines.Text())
		e.Expect(found == "", "a cell begins with %q: %.200s", found, lines.Text())
	}
}

// encrypted: with TLS the node says so for a year, and its cookie is bound to the host (T32).
func (w *world) encrypted(e conformance.Examiner) {
	folder := filepath.Join(w.files, e.Name("tls"))
	cert, key := selfSigned(e, folder)
	port := func() string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		e.Must(err == nil, "the stage: %v", err)
		defer listener.Close()
		return listener.Addr().String()
	}
	public, admin := port(), port()
	command := exec.CommandContext(e.Context(), w.binary, "serve", "--dev", "--id", "n1", "--data", filepath.Join(folder, "data"), "--http", public, "--admin", admin, "--bootstrap-expect", "1", "--public-url", "https://"+public, "--tls-cert", cert, "--tls-key", key)
	bootstrap := "rg_live_" + strings.Repeat("A", 20) + newWord("")
	command.Env = append(os.Environ(), "RAILGUARD_BOOTSTRAP_KEY="+bootstrap, "RAILGUARD_OFAC_SOURCE=")
	e.Must(command.Start() == nil, "the stage: serve does not start")
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // Its own certificate, made above.
	defer client.CloseIdleConnections()
	ask := func(method, path, body string) *http.Response {
		call, err := http.NewRequestWithContext(e.Context(), method, "https://"+public+path, strings.NewReader(body))
		e.Must(err == nil, "BUG: %v", err)
		for name, value := range map[string]string{"Content-Type": "application/json", "Origin": "https://" + public, "Sec-Fetch-Site": "same-origin"} {
			call.Header.Set(name, value)
		}
		answer, err := client.Do(call)
		if err != nil {
			return nil
		}
		_ = answer.Body.Close()
		return answer
	}
	var ready *http.Response
	for began := time.Now(); time.Since(began) < 30*time.Second && (ready == nil || ready.StatusCode != 200); time.Sleep(100 * time.Millisecond) {
		ready = ask("GET", "/readyz", "")
	}
	e.Must(ready != nil && ready.StatusCode == 200, "the stage: a node with TLS is not ready")
	for _, path := range []string{"/readyz", "/console", "/v1/key", "/docs"} {
		age := ask("GET", path, "").Header.Get("Strict-Transport-Security")
		e.Expect(strings.Contains(age, "max-age="), "%s over TLS has no Strict-Transport-Security: %q", path, age)
	}
	cookie := ask("POST", "/console/session", `{"key":"`+bootstrap+`"}`).Header.Get("Set-Cookie")
	e.Expect(strings.HasPrefix(cookie, "__Host-") && strings.Contains(cookie, "Secure") && strings.Contains(cookie, "Path=/;"), "the cookie over TLS is %.30s…", regexp.MustCompile(`=[^;]*`).ReplaceAllString(cookie, "=…"))
}

// selfSigned writes a certificate for this machine.
func selfSigned(e conformance.Examiner, folder string) (certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	e.Must(err == nil, "BUG: %v", err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	e.Must(err == nil, "BUG: %v", err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	e.Must(err == nil && os.MkdirAll(folder, 0o700) == nil, "BUG: %v", err)
	certFile, keyFile = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	e.Must(os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600) == nil, "BUG: cannot write")
	e.Must(os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600) == nil, "BUG: cannot write")
	return certFile, keyFile
}

// samples: what a balancer denies of the API, it denies of the console too, and it logs no query
// (T29, T33).
func (w *world) samples(e conformance.Examiner) {
	for _, name := range []string{"haproxy/haproxy.cfg", "nginx/railguard.conf"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
		e.Must(err == nil, "the stage: %v", err)
		e.Expect(strings.Contains(string(text), "/console/api/cluster/"), "%s passes on the console's cluster acts", name)
		logsAll := regexp.MustCompile(`(?m)^\s*option httplog|%HU|%r\b|\$request_uri|\$request\b|\$args`)
		found := logsAll.FindString(string(text))
		e.Expect(found == "", "%s logs queries: %s", name, strings.TrimSpace(found))
	}
}
