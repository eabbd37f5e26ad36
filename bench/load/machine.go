package load

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Machine is where a run was made; what could not be found out is "".
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Memory  string `json:"memory"`
	Kernel  string `json:"kernel"`
	System  string `json:"system"`
	Go      string `json:"go"`
	Disk    string `json:"disk"` // File system under the run's folder.
	LoadAvg string `json:"loadAverage"`
}

// String is the machine on one line.
func (m Machine) String() string {
	text := fmt.Sprintf("%d × %s, %s, %s kernel %s, %s", m.Cores, m.CPU, m.Memory, m.System, m.Kernel, m.Go)
	if m.Disk != "" {
		text += ", " + m.Disk
	}
	if m.LoadAvg != "" {
		text += "; load average at the start " + m.LoadAvg
	}
	return text
}

func thisMachine(folder string) Machine {
	m := Machine{Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	m.CPU = after("/proc/cpuinfo", "model name")
	m.Memory = after("/proc/meminfo", "MemTotal")
	m.Kernel = firstLine("/proc/sys/kernel/osrelease")
	if fields := strings.Fields(firstLine("/proc/loadavg")); len(fields) > 0 {
		m.LoadAvg = fields[0]
	}
	m.Disk = fileSystem(folder)
	return m
}

func firstLine(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	return strings.TrimSpace(line)
}

// after returns the value of a "name: value" line in a file.
func after(path, name string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fileSystem names the file system a folder is on: the mount with the longest path.
func fileSystem(folder string) string {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return ""
	}
	raw, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return ""
	}
	kind, longest := "", -1
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || len(fields[1]) <= longest {
			continue
		}
		if within, err := filepath.Rel(fields[1], folder); err == nil && within != ".." && !strings.HasPrefix(within, "../") {
			kind, longest = fields[2], len(fields[1])
		}
	}
	return kind
}

// buildID is the commit that the program was built from, or, if the build does
// not know it, the first digits of the program's own SHA-256.
func buildID(binary string) string {
	id, dirty := "", ""
	if info, err := buildinfo.ReadFile(binary); err == nil {
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				id = setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true":
				dirty = " with changes"
			}
		}
	}
	if id == "" {
		raw, err := os.ReadFile(binary)
		if err != nil {
			return "unknown build"
		}
		return fmt.Sprintf("binary %.6x", sha256.Sum256(raw))
	}
	return id[:min(12, len(id))] + dirty
}
