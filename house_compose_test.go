package railguard

import (
	"debug/elf"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// The members of deploy/compose/compose.yml with their types in the Compose Specification, as
// far as they are used.
type (
	composeFile struct {
		Name     string
		Services map[string]composeService
		Networks map[string]struct {
			IPAM struct {
				Config []struct {
					Subnet  string
					IPRange string `yaml:"ip_range"`
				}
			}
		}
		Volumes map[string]struct{}
		Secrets map[string]struct{ File string }
	}
	composeService struct {
		Image       string
		Build       struct{ Context, Dockerfile string }
		Restart     string
		StopGrace   string   `yaml:"stop_grace_period"`
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		SecurityOpt []string `yaml:"security_opt"`
		Networks    map[string]struct {
			Address string `yaml:"ipv4_address"`
		}
		Secrets     []string
		Ports       []string
		Volumes     []string
		Environment words
		DependsOn   any `yaml:"depends_on"` // A list of names, or conditions by name.
		Healthcheck struct {
			Test              []string
			Interval, Timeout string
			StartPeriod       string `yaml:"start_period"`
		}
	}
)

// composeOf is the file with its anchors resolved and without its x- members.
func composeOf(t *testing.T) *yaml.Node {
	var plain map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text(t, "deploy/compose/compose.yml")), &plain))
	for name := range plain {
		if strings.HasPrefix(name, "x-") {
			delete(plain, name)
		}
	}
	data, err := yaml.Marshal(plain)
	require.NoError(t, err)
	node := new(yaml.Node)
	require.NoError(t, yaml.Unmarshal(data, node))
	return node.Content[0]
}

func readCompose(node *yaml.Node) (file composeFile, err error) {
	data, err := yaml.Marshal(node)
	if err != nil {
		return file, err
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	return file, decoder.Decode(&file)
}

// eachMember calls visit with every key that the specification names. ours says that the
// node's own keys are names of ours. The keys below the members in named are ours too.
func eachMember(node *yaml.Node, ours bool, visit func(key *yaml.Node)) {
	named := map[string]bool{"services": true, "networks": true, "volumes": true, "secrets": true, "environment": true, "depends_on": true}
	for i := 0; i < len(node.Content); i++ {
		child := node.Content[i]
		if node.Kind != yaml.MappingNode {
			eachMember(child, false, visit)
			continue
		}
		if !ours {
			visit(child)
		}
		i++
		eachMember(node.Content[i], !ours && named[child.Value] && node.Content[i].Kind == yaml.MappingNode, visit)
	}
}

// TestComposeKnowsEveryField: every field is known, a misspelt one would be found, and the
// names it refers to exist.
func TestComposeKnowsEveryField(t *testing.T) {
	node := composeOf(t)
	file, err := readCompose(node)
	require.NoError(t, err)
	keys := 0
	eachMember(node, false, func(key *yaml.Node) {
		was := key.Value
		if was == "condition" {
			return // It is part of depends_on, which has two forms.
		}
		key.Value = was + "x"
		_, err := readCompose(node)
		require.Error(t, err, "%s misspelt", was)
		key.Value = was
		keys++
	})
	require.Greater(t, keys, 60)

	used := map[string]bool{}
	for name, service := range file.Services {
		for _, secret := range service.Secrets {
			require.Contains(t, file.Secrets, secret, name)
			used["secret "+secret] = true
		}
		for network := range service.Networks {
			require.Contains(t, file.Networks, network, name)
		}
		for _, mount := range service.Volumes {
			source, target, found := strings.Cut(mount, ":")
			require.True(t, found && strings.HasPrefix(target, "/"), "%s: %s", name, mount)
			if strings.HasPrefix(source, ".") {
				require.FileExists(t, notFolder(filepath.Join("deploy/compose", source)), name)
				continue
			}
			require.Contains(t, file.Volumes, source, name)
			used["volume "+source] = true
		}
		for _, port := range service.Ports {
			require.Regexp(t, `^127\.0\.0\.1:\d+:\d+$`, port, "%s is for this machine alone", name)
		}
	}
	require.Len(t, used, len(file.Secrets)+len(file.Volumes), "no secret and no volume that nobody uses")

	for name, service := range file.Services {
		require.Regexp(t, `^railguard:|:v?\d+\.\d+\.\d+$|@sha256:[0-9a-f]{64}$`, service.Image, "%s has an exact version", name)
	}
	require.Equal(t, "/run/secrets/grafana-password", file.Services["grafana"].Environment["GF_SECURITY_ADMIN_PASSWORD__FILE"], "no password that everybody knows")
	address := file.Services["haproxy"].Networks["nodes"].Address
	require.True(t, netip.MustParsePrefix(file.Networks["nodes"].IPAM.Config[0].Subnet).Contains(netip.MustParseAddr(address)))
	require.False(t, netip.MustParsePrefix(file.Networks["nodes"].IPAM.Config[0].IPRange).Contains(netip.MustParseAddr(address)), "nobody else gets it")
	proxy := file.Services["haproxy"].Environment
	for _, variable := range regexp.MustCompile(`RAILGUARD_[A-Z0-9]+`).FindAllString(text(t, "deploy/haproxy/haproxy.cfg"), -1) {
		require.Contains(t, proxy, variable, "haproxy.cfg asks for it")
	}
	for _, id := range []string{"n1", "n2", "n3"} {
		s := file.Services[id]
		require.Equal(t, id, s.Environment["RAILGUARD_ID"])
		require.Equal(t, id+":8280", s.Environment["RAILGUARD_ADVERTISE"])
		require.Contains(t, s.Environment["RAILGUARD_JOIN"], id+":8280")
		require.Equal(t, address+"/32", s.Environment["RAILGUARD_TRUSTED_PROXIES"], "the proxy alone says who calls")
		require.True(t, s.ReadOnly && len(s.CapDrop) == 1 && s.CapDrop[0] == "ALL", id)
	}
}

// notFolder returns a file in a folder, or the file itself.
func notFolder(path string) string {
	if files, _ := filepath.Glob(path + "/*"); len(files) > 0 {
		return files[0]
	}
	return path
}

// TestProvisioningKnowsEveryField does the same for what Grafana reads when it starts.
func TestProvisioningKnowsEveryField(t *testing.T) {
	for path, into := range map[string]any{
		"deploy/compose/grafana/datasource.yml": &struct {
			APIVersion  int `yaml:"apiVersion"`
			Datasources []struct {
				Name, Type, Access, URL, UID string
				IsDefault                    bool `yaml:"isDefault"`
			}
		}{},
		"deploy/compose/grafana/dashboards.yml": &struct {
			APIVersion int `yaml:"apiVersion"`
			Providers  []struct {
				Name, Folder, Type string
				Options            struct{ Path string }
			}
		}{},
	} {
		decoder := yaml.NewDecoder(strings.NewReader(text(t, path)))
		decoder.KnownFields(true)
		require.NoError(t, decoder.Decode(into), path)
	}
}

// TestImageNeedsNothing: the image's binary needs no interpreter and no library. With it
// prepare.sh makes every secret that the compose file names.
func TestImageNeedsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it links a binary")
	}
	binary := filepath.Join(t.TempDir(), "railguard")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", binary, "./cmd/railguard") // Flags of the compiler would compile everything a second time.
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	file, err := elf.Open(binary)
	require.NoError(t, err)
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
	require.Nil(t, file.Section(".dynamic"))
	for _, part := range file.Progs {
		require.NotEqual(t, elf.PT_INTERP, part.Type)
	}

	folder := t.TempDir()
	script := filepath.Join(folder, "prepare.sh")
	require.NoError(t, os.WriteFile(script, []byte(text(t, "deploy/compose/prepare.sh")), 0o700))
	prepare := exec.Command("/bin/sh", script)
	prepare.Env = append(os.Environ(), "RAILGUARD="+binary)
	said, err = prepare.CombinedOutput()
	require.NoError(t, err, string(said))
	compose, err := readCompose(composeOf(t))
	require.NoError(t, err)
	for name, secret := range compose.Secrets {
		data, err := os.ReadFile(filepath.Join(folder, secret.File))
		require.NoError(t, err, name)
		require.NotEmpty(t, data, name)
	}
}
