package railguard

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// The fields of the Kubernetes objects in deploy/kubernetes with their types in its API, as
// far as they are used. A field that is not here is a mistake, or must be added.
type (
	words map[string]string

	objectMeta struct {
		Name, Namespace     string
		Labels, Annotations words
	}
	selector struct {
		MatchLabels words `yaml:"matchLabels"`
	}
	manifest[S any] struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   objectMeta
		Spec       S
	}
	statefulSet struct {
		ServiceName         string `yaml:"serviceName"`
		Replicas            int
		PodManagementPolicy string `yaml:"podManagementPolicy"`
		UpdateStrategy      struct {
			Type string
		} `yaml:"updateStrategy"`
		MinReadySeconds int `yaml:"minReadySeconds"`
		ClaimRetention  struct {
			WhenDeleted string `yaml:"whenDeleted"`
			WhenScaled  string `yaml:"whenScaled"`
		} `yaml:"persistentVolumeClaimRetentionPolicy"`
		Selector selector
		Template struct {
			Metadata objectMeta
			Spec     podSpec
		}
		VolumeClaimTemplates []struct {
			Metadata objectMeta
			Spec     struct {
				AccessModes []string `yaml:"accessModes"`
				Resources   struct{ Requests words }
			}
		} `yaml:"volumeClaimTemplates"`
	}
	podSpec struct {
		AutomountToken  *bool `yaml:"automountServiceAccountToken"`
		ServiceLinks    *bool `yaml:"enableServiceLinks"`
		GracePeriod     int   `yaml:"terminationGracePeriodSeconds"`
		SecurityContext struct {
			RunAsNonRoot        bool                  `yaml:"runAsNonRoot"`
			RunAsUser           int                   `yaml:"runAsUser"`
			RunAsGroup          int                   `yaml:"runAsGroup"`
			FSGroup             int                   `yaml:"fsGroup"`
			FSGroupChangePolicy string                `yaml:"fsGroupChangePolicy"`
			SeccompProfile      struct{ Type string } `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		Affinity struct {
			PodAntiAffinity struct {
				Required []struct {
					TopologyKey   string   `yaml:"topologyKey"`
					LabelSelector selector `yaml:"labelSelector"`
				} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
			} `yaml:"podAntiAffinity"`
		}
		Spread []struct {
			TopologyKey       string   `yaml:"topologyKey"`
			MaxSkew           int      `yaml:"maxSkew"`
			WhenUnsatisfiable string   `yaml:"whenUnsatisfiable"`
			LabelSelector     selector `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		Containers []container
		Volumes    []struct {
			Name   string
			Secret struct {
				SecretName  string `yaml:"secretName"`
				DefaultMode int    `yaml:"defaultMode"`
			}
		}
	}
	container struct {
		Name, Image string
		Args        []string
		EnvFrom     []struct {
			ConfigMapRef struct{ Name string } `yaml:"configMapRef"`
		} `yaml:"envFrom"`
		Env []struct {
			Name, Value string
			ValueFrom   struct {
				FieldRef struct {
					FieldPath string `yaml:"fieldPath"`
				} `yaml:"fieldRef"`
			} `yaml:"valueFrom"`
		}
		Ports []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		LivenessProbe   probe `yaml:"livenessProbe"`
		ReadinessProbe  probe `yaml:"readinessProbe"`
		Resources       struct{ Requests, Limits words }
		SecurityContext struct {
			PrivilegeEscalation *bool                   `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRoot        bool                    `yaml:"readOnlyRootFilesystem"`
			Capabilities        struct{ Drop []string } `yaml:"capabilities"`
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
	}
	probe struct {
		HTTPGet          struct{ Path, Port, Scheme string } `yaml:"httpGet"`
		PeriodSeconds    int                                 `yaml:"periodSeconds"`
		TimeoutSeconds   int                                 `yaml:"timeoutSeconds"`
		FailureThreshold int                                 `yaml:"failureThreshold"`
	}
	service struct {
		ClusterIP       string `yaml:"clusterIP"`
		PublishNotReady bool   `yaml:"publishNotReadyAddresses"`
		Ports           []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
	}
	disruptionBudget struct {
		MaxUnavailable int `yaml:"maxUnavailable"`
		Selector       selector
	}
	networkPolicy struct {
		PodSelector selector `yaml:"podSelector"`
		PolicyTypes []string `yaml:"policyTypes"`
		Ingress     []struct {
			Ports []policyPort
			From  []policyPeer
		}
		Egress []struct {
			Ports []policyPort
			To    []policyPeer
		}
	}
	policyPort struct{ Port, Protocol string }
	policyPeer struct {
		PodSelector       selector `yaml:"podSelector"`
		NamespaceSelector selector `yaml:"namespaceSelector"`
	}
	ingress struct {
		IngressClassName string `yaml:"ingressClassName"`
		TLS              []struct {
			Hosts      []string
			SecretName string `yaml:"secretName"`
		}
		Rules []struct {
			Host string
			HTTP struct {
				Paths []struct {
					Path     string
					PathType string `yaml:"pathType"`
					Backend  struct {
						Service struct {
							Name string
							Port struct{ Name string }
						}
					}
				}
			}
		}
	}
	secretKey      struct{ Name, Key string }
	serviceMonitor struct {
		Selector  selector
		Endpoints []struct {
			Port, Path, Scheme, Interval string
			TLSConfig                    struct {
				ServerName string `yaml:"serverName"`
				CA, Cert   struct{ Secret secretKey }
				KeySecret  secretKey `yaml:"keySecret"`
			} `yaml:"tlsConfig"`
		}
	}
)

// manifestOf returns an empty object of a kind and API version, or nil for an unknown one.
func manifestOf(of string) any {
	switch of {
	case "apps/v1 StatefulSet":
		return &manifest[statefulSet]{}
	case "v1 Service":
		return &manifest[service]{}
	case "v1 Namespace":
		return &manifest[struct{}]{}
	case "networking.k8s.io/v1 Ingress":
		return &manifest[ingress]{}
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return &manifest[serviceMonitor]{}
	case "policy/v1 PodDisruptionBudget":
		return &manifest[disruptionBudget]{}
	case "networking.k8s.io/v1 NetworkPolicy":
		return &manifest[networkPolicy]{}
	case "kustomize.config.k8s.io/v1beta1 Kustomization":
		return &struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Namespace  string
			Labels     []struct {
				Pairs            words
				IncludeSelectors bool `yaml:"includeSelectors"`
				IncludeTemplates bool `yaml:"includeTemplates"`
			}
			Resources  []string
			ConfigMaps []struct {
				Name     string
				Literals []string
			} `yaml:"configMapGenerator"`
			Images []struct {
				Name   string
				NewTag string `yaml:"newTag"`
			}
		}{}
	}
	return nil
}

// checkManifest reads one object and refuses fields that its kind does not have.
func checkManifest(node *yaml.Node) error {
	var of struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
	}
	if err := node.Decode(&of); err != nil {
		return err
	}
	into := manifestOf(of.APIVersion + " " + of.Kind)
	if into == nil {
		return errors.New("no such kind: " + of.APIVersion + " " + of.Kind)
	}
	data, err := yaml.Marshal(node)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}

// freeKeys are the members whose keys can be anything: labels, resource amounts.
var freeKeys = map[string]bool{"labels": true, "annotations": true, "matchLabels": true, "pairs": true, "requests": true, "limits": true}

// eachKey calls visit with every key of an object that its API names.
func eachKey(node *yaml.Node, visit func(key *yaml.Node)) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			visit(child)
			continue
		}
		if node.Kind == yaml.MappingNode && freeKeys[node.Content[i-1].Value] && child.Kind == yaml.MappingNode {
			continue
		}
		eachKey(child, visit)
	}
}

// TestKubernetesKnowsEveryField: every object has a known kind with only that kind's fields
// and types, and a misspelt field would be found.
func TestKubernetesKnowsEveryField(t *testing.T) {
	files, err := filepath.Glob("deploy/kubernetes/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 8)
	keys := 0
	for _, path := range files {
		decoder := yaml.NewDecoder(strings.NewReader(text(t, path)))
		for {
			var document yaml.Node
			if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err, path)
			}
			require.NoError(t, checkManifest(&document), path)
			eachKey(&document, func(key *yaml.Node) {
				was := key.Value
				key.Value = was + "x"
				require.Error(t, checkManifest(&document), "%s: %s misspelt", path, was)
				key.Value = was
				keys++
			})
		}
	}
	require.Greater(t, keys, 150)
}
