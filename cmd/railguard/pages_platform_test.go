package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// kubectlHere does with folders and one local node what the page asks a cluster of Kubernetes for.
// It knows no other command.
const kubectlHere = `#!/bin/bash
if [ "$1" = -n ]; then [ "$2" = railguard ] || exit 9; shift 2; fi
case "$1" in
apply) if [ "$2" = -k ]; then test -f "$3/kustomization.yaml"; else test -f "$3"; fi; exit ;;
create)
  [ "$2 $3" = "secret generic" ] || exit 9
  name=$4; shift 4; mkdir -p "$BOOK/mounted/$name"
  for file; do file=${file#--from-file=}; cp "${file#*=}" "$BOOK/mounted/$name/$(basename "${file%%=*}")" || exit 1; done ;;
rollout) [ "$2 $3" = "status statefulset/railguard" ] ;;
exec)
  [ "$2 $3 $4" = "railguard-0 -- /usr/bin/railguard" ] || exit 9
  shift 4; exec env -i "PATH=$PATH" "BOOK=$BOOK" $(cat "$BOOK/settings") railguard "$@" ;;
port-forward) [ "$2 $3 $4" = "pod/railguard-0 8180 8443" ] ;;
*) exit 9 ;;
esac
`

// dockerHere does the same for docker compose.
const dockerHere = `#!/bin/bash
[ "$1" = compose ] || exit 9
shift
case "$1" in
up) [ "$*" = "up --build -d" ] ;;
cp) cp -r "${2#n1:}" "${3#n1:}" ;;
exec)
  shift; given=()
  if [ "$1" = -e ]; then given=("$2=${!2}"); shift 2; fi
  [ "$1 $2" = "n1 /usr/bin/railguard" ] || exit 9
  shift 2; exec env -i "PATH=$PATH" "BOOK=$BOOK" $(cat "$BOOK/settings") "${given[@]}" railguard "$@" ;;
*) exit 9 ;;
esac
`

// platform is one local node with the settings that the files of a platform give it, in which only
// addresses and folders differ.
type platform struct {
	*book
	p *park
	m *machine
}

func newPlatform(t *testing.T, folder string) *platform {
	p := newPark(t, 1)
	l := &platform{p: p, m: p.machines[0], book: openBook(t, p.binary)}
	files, err := filepath.Glob(filepath.Join("../../deploy", folder, "*"))
	require.NoError(t, err)
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			l.write(filepath.Base(file), string(data))
		}
	}
	data, err := os.ReadFile(p.identity)
	require.NoError(t, err)
	l.write("identity", string(data))
	l.replace = []string{
		"https://127.0.0.1:8180", "https://" + l.m.admin, "https://127.0.0.1:8443", "https://" + l.m.http, "http://127.0.0.1:8090", "http://" + l.m.http,
		"/var/lib/railguard", l.m.data, "age1...", p.recipient, "ofac import /var/lib/railguard", "ofac import --force --reason tests " + l.m.data,
		"ofac import lists", "ofac import --force --reason tests lists", "./prepare.sh", "sh prepare.sh",
	}
	writeParkLists(t, filepath.Join(l.book.folder, "lists"))
	return l
}

// settle writes the settings that verbs see, and returns those of the server, which listens on
// loopback alone here and forms a cluster of one.
func (l *platform) settle(settings map[string]string, paths ...string) (server []string) {
	settings["RAILGUARD_DATA"] = l.m.data // As the image has it.
	ports := []string{":8443", l.m.http[strings.LastIndex(l.m.http, ":"):], ":8180", l.m.admin[strings.LastIndex(l.m.admin, ":"):], ":8280", l.m.cluster[strings.LastIndex(l.m.cluster, ":"):]}
	ports = append(ports, ":8080", ports[1])
	for name, value := range settings {
		settings[name] = strings.NewReplacer(append(paths, ports...)...).Replace(value)
	}
	delete(settings, "RAILGUARD_JOIN")
	delete(settings, "RAILGUARD_OFAC_SOURCE")
	settings["RAILGUARD_BOOTSTRAP_EXPECT"], settings["RAILGUARD_GRACE"] = "1", "0s"
	var lines []string
	for _, name := range sortedKeys(settings) {
		lines = append(lines, name+"="+settings[name])
		server = append(server, name+"="+strings.ReplaceAll(settings[name], "0.0.0.0:", "127.0.0.1:"))
	}
	l.write("settings", strings.Join(lines, "\n"))
	return server
}

// rise starts the node and waits until it serves.
func (l *platform) rise(server []string) int {
	child, err := l.p.spawner.Launch(l.p.binary, []string{"serve"}, append(server, "PATH="+os.Getenv("PATH")), l.p.log(l.m))
	require.NoError(l.t, err)
	l.m.child = child
	require.Eventually(l.t, func() bool {
		said, _ := l.enter("curl -s -o .answer -w '%{http_code}' --cacert " + l.authority(server) + " '" + l.scheme(server) + l.m.http + "/readyz?exclude=list'")
		return strings.Contains(said, "200")
	}, slowPatience, 200*time.Millisecond, "%s", l.p.said(l.m))
	return exitOK
}

func (l *platform) scheme(server []string) string {
	if strings.Contains(strings.Join(server, "\n"), "RAILGUARD_TLS_CERT=") {
		return "https://"
	}
	return "http://"
}

func (l *platform) authority(server []string) string {
	for _, setting := range server {
		if path, is := strings.CutPrefix(setting, "RAILGUARD_ADMIN_CA="); is {
			return path
		}
	}
	return ""
}

var madeKey = regexp.MustCompile(`rg_live_[0-9A-Za-z_-]{20,}`)

// useKey lets the page's placeholder stand for the key that a command has printed.
func (l *platform) useKey(printed []string) {
	key := madeKey.FindString(strings.Join(printed, "\n"))
	require.NotEmpty(l.t, key, printed)
	l.replace = append(l.replace, "rg_live_...", key)
}

// TestKubernetesPageIsRun types the page of Kubernetes. The Secrets that it makes are what the
// StatefulSet mounts, and its settings start a node and let verbs in the pod find it.
func TestKubernetesPageIsRun(t *testing.T) {
	l := newPlatform(t, "kubernetes")
	l.program("kubectl", kubectlHere)
	var set struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Env []struct{ Name, Value string }
					}
				}
			}
		}
	}
	data, err := os.ReadFile("../../deploy/kubernetes/statefulset.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &set))
	settings := map[string]string{"RAILGUARD_PUBLIC_URL": "https://guard.example.org"}
	for _, entry := range set.Spec.Template.Spec.Containers[0].Env {
		settings[entry.Name] = entry.Value
	}
	delete(settings, "GOMEMLIMIT")
	settings["RAILGUARD_ID"] = "railguard-0"
	mounted := filepath.Join(l.book.folder, "mounted")
	server := l.settle(settings, "$(RAILGUARD_ID)", "railguard-0", "/etc/railguard/secrets", filepath.Join(mounted, "railguard-secrets"), "/etc/railguard/certificates", filepath.Join(mounted, "railguard-certificates"))
	l.instead["kubectl -n railguard rollout"] = func() int { return l.rise(server) }

	blocks := readBlocks(t, "deploy/kubernetes/README.md")
	require.Len(t, blocks, 3)
	l.read(blocks[0])
	l.useKey(l.read(blocks[1]))
	printed := l.read(blocks[2])
	require.Contains(t, printed[4], "writes ok")
	require.Contains(t, printed[len(printed)-1], "whole")
}

// TestComposePageIsRun types the page of containers. prepare.sh makes the secrets that the compose
// file names; its settings start a node and let verbs in the container find it.
func TestComposePageIsRun(t *testing.T) {
	l := newPlatform(t, "compose")
	l.program("docker", dockerHere)
	var file struct {
		Settings map[string]string `yaml:"x-settings"`
		Secrets  map[string]struct{ File string }
	}
	data, err := os.ReadFile("../../deploy/compose/compose.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &file))
	var paths []string
	for name, secret := range file.Secrets {
		paths = append(paths, "/run/secrets/"+name, filepath.Join(l.book.folder, secret.File))
	}
	settings := file.Settings
	settings["RAILGUARD_ID"], settings["RAILGUARD_PUBLIC_URL"] = "n1", "http://127.0.0.1:8090"
	settings["RAILGUARD_HTTP"], settings["RAILGUARD_CLUSTER"] = "0.0.0.0:8080", "0.0.0.0:8280" // As the image has them.
	settings["RAILGUARD_ADVERTISE"] = "127.0.0.1:8280"
	server := l.settle(settings, paths...)
	l.instead["docker compose up"] = func() int { return l.rise(server) }

	blocks := readBlocks(t, "deploy/compose/README.md")
	require.Len(t, blocks, 2)
	l.read(blocks[0])
	l.useKey(l.read(&pageBlock{page: blocks[1].page, line: blocks[1].line, commands: blocks[1].commands[:1]}))
	printed := l.read(&pageBlock{page: blocks[1].page, line: blocks[1].line, commands: blocks[1].commands[1:]})
	require.Contains(t, printed[1], "writes ok")
	require.Contains(t, printed[len(printed)-1], "whole")
}
