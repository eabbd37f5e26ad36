package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// stage is one FROM of a Dockerfile and the result of its instructions.
type stage struct {
	root        string // The folder that is the stage's "/".
	environment map[string]string
	arguments   map[string]string
	folder      string // WORKDIR.
	user        string
	entry       []string
	command     []string
}

// builder runs the instructions of a Dockerfile, stage by stage.
type builder struct {
	source  string // The build context's folder.
	files   []string
	scratch string            // The folder in which roots are made.
	global  map[string]string // Arguments before the first FROM, and those of the caller.
	given   map[string]string
	stages  map[string]*stage
	current *stage
}

// listContext lists the files that git tracks and .dockerignore lets into the context.
func listContext(source string) ([]string, error) {
	command := exec.Command("git", "ls-files", "-z")
	command.Dir = source
	tracked, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	ignore, err := os.Open(filepath.Join(source, ".dockerignore"))
	if err != nil {
		return nil, err
	}
	defer ignore.Close()
	patterns, err := ignorefile.ReadAll(ignore)
	if err != nil {
		return nil, fmt.Errorf(".dockerignore: %w", err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, fmt.Errorf(".dockerignore: %w", err)
	}
	var files []string
	for _, file := range strings.Split(strings.TrimRight(string(tracked), "\x00"), "\x00") {
		left, err := matcher.MatchesOrParentMatches(file)
		if err != nil {
			return nil, err
		}
		if !left {
			files = append(files, file)
		}
	}
	return files, nil
}

func (b *builder) run(i instruction) error {
	if b.current == nil && i.word != "FROM" && i.word != "ARG" {
		return fmt.Errorf("%s stands before the first FROM", i.word)
	}
	switch i.word {
	case "ARG":
		return b.declareArgument(i.rest)
	case "FROM":
		return b.beginStage(i.rest)
	case "ENV":
		return b.setEnvironment(i.rest)
	case "WORKDIR":
		b.current.folder = i.rest
		return os.MkdirAll(filepath.Join(b.current.root, i.rest), 0o755)
	case "COPY":
		return b.copyFiles(i.rest)
	case "RUN":
		return b.runShell(i.rest)
	case "USER":
		b.current.user = i.rest
	case "ENTRYPOINT":
		words, err := readWords(i.rest)
		b.current.entry = words
		return err
	case "CMD":
		words, err := readWords(i.rest)
		b.current.command = words
		return err
	case "VOLUME", "EXPOSE", "STOPSIGNAL": // They matter only to whoever runs the image.
	default:
		return fmt.Errorf("%s is not an instruction that this program knows", i.word)
	}
	return nil
}

func (b *builder) declareArgument(text string) error {
	name, value, hasDefault := strings.Cut(text, "=")
	if given, ok := b.given[name]; ok {
		value, hasDefault = given, true
	}
	if !hasDefault {
		value = b.global[name]
	}
	if b.current == nil {
		b.global[name] = value
	} else {
		b.current.arguments[name] = value
	}
	return nil
}

func (b *builder) beginStage(text string) error {
	_, words := splitFlags(text)
	if len(words) != 1 && (len(words) != 3 || !strings.EqualFold(words[1], "AS")) {
		return fmt.Errorf("FROM %s: not an image, or an image AS a name", text)
	}
	base, err := expandVariables(words[0], b.global)
	if err != nil {
		return err
	}
	name := fmt.Sprint(len(b.stages))
	if len(words) == 3 {
		name = words[2]
	}
	s := &stage{root: filepath.Join(b.scratch, name), environment: map[string]string{}, arguments: map[string]string{}, folder: "/"}
	if base == "scratch" {
		err = os.Mkdir(s.root, 0o755)
	} else {
		fmt.Printf("   %s is stood in for by this machine's root\n", base)
		err = mountMachine(s.root)
	}
	b.stages[name], b.current = s, s
	return err
}

// mountMachine mounts a copy-on-write view of this machine's root. The kernel removes the
// mount when this process ends, because the process has its own mount namespace.
func mountMachine(root string) error {
	upper, work := root+".upper", root+".work"
	for _, folder := range []string{root, upper, work} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
	}
	if err := syscall.Mount("overlay", root, "overlay", 0, "lowerdir=/,upperdir="+upper+",workdir="+work); err != nil {
		return fmt.Errorf("overlay of this machine's root: %w", err)
	}
	for _, folder := range []string{"/proc", "/dev"} {
		if err := syscall.Mount(folder, root+folder, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("%s in the stage: %w", folder, err)
		}
	}
	return nil
}

func (b *builder) setEnvironment(text string) error {
	for _, word := range strings.Fields(text) {
		name, value, found := strings.Cut(word, "=")
		if !found {
			return fmt.Errorf("ENV %s: not NAME=VALUE", word)
		}
		b.current.environment[name] = value
	}
	return nil
}

// copyFiles copies from the context, or from an earlier stage with --from.
func (b *builder) copyFiles(text string) error {
	flags, words := splitFlags(text)
	if len(words) < 2 {
		return fmt.Errorf("COPY %s: no source or no target", text)
	}
	target := words[len(words)-1]
	if !filepath.IsAbs(target) {
		target = filepath.Join(b.current.folder, target) + "/"
	}
	arguments := []string{"--archive", "--no-preserve=ownership"}
	if owner := flags["chown"]; owner != "" {
		defer func() { _ = exec.Command("chown", "--recursive", owner, filepath.Join(b.current.root, target)).Run() }()
	}
	if from := flags["from"]; from != "" {
		earlier, known := b.stages[from]
		if !known {
			return fmt.Errorf("COPY --from=%s: there is no such stage", from)
		}
		for _, word := range words[:len(words)-1] {
			arguments = append(arguments, filepath.Join(earlier.root, word)+"/.")
		}
		return b.runHere(exec.Command("cp", append(arguments, filepath.Join(b.current.root, target))...))
	}
	return b.copyContext(words[:len(words)-1], target)
}

// copyContext copies files and folders of the context: a folder's contents go into the
// target, as Docker's COPY does.
func (b *builder) copyContext(sources []string, target string) error {
	for _, source := range sources {
		source = filepath.Clean(source)
		copied := 0
		for _, file := range b.files {
			inside := file
			if source != "." && file != source {
				rest, within := strings.CutPrefix(file, source+"/")
				if !within {
					continue
				}
				inside = rest
			} else if file == source {
				inside = filepath.Base(file)
			}
			to := filepath.Join(b.current.root, target, inside)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := b.runHere(exec.Command("cp", "--archive", "--no-preserve=ownership", filepath.Join(b.source, file), to)); err != nil {
				return err
			}
			copied++
		}
		if copied == 0 {
			return fmt.Errorf("COPY %s: not in the build context; does .dockerignore leave it out?", source)
		}
	}
	return nil
}

func (b *builder) runShell(text string) error {
	command := exec.Command("/bin/sh", "-c", text)
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: b.current.root}
	command.Dir = b.current.folder
	command.Env = os.Environ() // Passes on proxies and certificates for network access.
	for _, values := range []map[string]string{b.current.arguments, b.current.environment} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			command.Env = append(command.Env, name+"="+values[name])
		}
	}
	return b.runHere(command)
}

func (b *builder) runHere(command *exec.Cmd) error {
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run()
}
