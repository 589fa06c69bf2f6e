package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// variable chooses a mutant in a test binary: its number.
const variable = "NULLOPS_MUTANT"

// helper is the text of the file that is added to a target.
const helper = `package %s

import (
	"cmp"
	"os"
	"strconv"
)

var nullopsMutantChosen = func() int {
	n, _ := strconv.Atoi(os.Getenv("` + variable + `"))
	return n
}()

func nullopsMutant(n int) bool { return n == nullopsMutantChosen }

func nullopsMutantAdd[T interface{ ~int | ~int64 | ~float64 }](n int, value T) T {
	if nullopsMutant(n) {
		return value + 1
	}
	return value
}

func nullopsMutantLess[T cmp.Ordered](n int, a, b T) bool {
	return a < b || nullopsMutant(n) && a == b
}

func nullopsMutantMore[T cmp.Ordered](n int, a, b T) bool {
	return a > b || nullopsMutant(n) && a == b
}

func nullopsMutantLessOrEqual[T cmp.Ordered](n int, a, b T) bool {
	return a < b || !nullopsMutant(n) && a == b
}

func nullopsMutantMoreOrEqual[T cmp.Ordered](n int, a, b T) bool {
	return a > b || !nullopsMutant(n) && a == b
}
`

// builder builds the test binaries of one target in a folder of its own.
type builder struct {
	work             string
	target           target
	importPath, name string
	built            int
	// tests matches the names of the tests that are run.
	tests *regexp.Regexp
}

func newBuilder(ctx context.Context, work string, t target, tests string) (*builder, error) {
	matching, err := regexp.Compile(tests)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	listed, err := listPackage(ctx, t.dir)
	if err != nil {
		return nil, err
	}
	return &builder{work: work, target: t, importPath: listed.ImportPath, name: listed.Name,
		tests: matching}, nil
}

// binary tests one package with some mutants in it.
type binary struct {
	tests string // the package whose tests these are
	path  string
}

// buildAll builds the binaries that hold all mutants which can be chosen at run time. What the
// compiler refuses is left out and returned: it cannot be a fault of the product.
func (b *builder) buildAll(ctx context.Context, mutants []mutant) ([]binary, []int, error) {
	together := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.alone })
	var refused []int
	for {
		binaries, said, err := b.build(ctx, together)
		if err == nil {
			return binaries, refused, nil
		}
		bad := findRefused(said, b.mutatedFiles(together))
		if len(bad) == 0 {
			return nil, nil, fmt.Errorf("it does not build: %w\n%s", err, said)
		}
		refused = append(refused, bad...)
		together = slices.DeleteFunc(together, func(m mutant) bool {
			return slices.Contains(bad, m.number)
		})
	}
}

// freeConstants turns the constants that the compiler lets be chosen at run time into mutants
// that need no build of their own.
func (b *builder) freeConstants(ctx context.Context, mutants []mutant) error {
	var tried []mutant
	for _, m := range mutants {
		if m.alone && m.chosen != nil {
			m.edits = m.chosen
			tried = append(tried, m)
		}
	}
	for len(tried) > 0 {
		overlay, err := b.writeOverlay(tried)
		if err != nil {
			return err
		}
		said, err := exec.CommandContext(ctx, "go", "build", "-gcflags="+b.importPath+"=-e",
			"-overlay", overlay, joinDir(b.target.dir)).CombinedOutput()
		if err == nil {
			break
		}
		bad := findRefused(string(said), b.mutatedFiles(tried))
		if len(bad) == 0 {
			return fmt.Errorf("it does not build: %w\n%s", err, said)
		}
		tried = slices.DeleteFunc(tried, func(m mutant) bool {
			return slices.Contains(bad, m.number)
		})
	}
	for i, m := range mutants {
		if slices.ContainsFunc(tried, func(t mutant) bool { return t.number == m.number }) {
			mutants[i].alone, mutants[i].edits = false, m.chosen
		}
	}
	return nil
}

// build builds one binary for each package of tests. With an error come the compiler's words.
func (b *builder) build(ctx context.Context, mutants []mutant, flags ...string) (
	binaries []binary, said string, err error,
) {
	// All errors at once, not the first ten.
	flags = append(flags, "-gcflags="+b.importPath+"=-e")
	if len(mutants) > 0 { // the coverage tool reads no overlay
		overlay, err := b.writeOverlay(mutants)
		if err != nil {
			return nil, "", err
		}
		flags = append(flags, "-overlay", overlay)
	}
	for _, tests := range b.target.testPackages() {
		b.built++
		made := binary{tests, filepath.Join(b.work, strconv.Itoa(b.built)+".test")}
		args := slices.Concat([]string{"test", "-c", "-vet=off", "-o", made.path}, flags,
			[]string{joinDir(tests)})
		out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
		if err != nil {
			return nil, string(out), err
		}
		binaries = append(binaries, made)
	}
	return binaries, "", nil
}

// writeOverlay writes the changed files, and the list that makes the compiler read them.
func (b *builder) writeOverlay(mutants []mutant) (string, error) {
	replace := map[string]string{}
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	write := func(name, text string) error {
		b.built++ // The compiler's words name the changed file: it keeps its name.
		folder := filepath.Join(b.work, strconv.Itoa(b.built))
		path := filepath.Join(folder, filepath.Base(name))
		replace[filepath.Join(root, filepath.FromSlash(name))] = path
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	}
	for name, text := range b.mutatedFiles(mutants) {
		if err := write(name, text); err != nil {
			return "", err
		}
	}
	added := filepath.Join(b.target.dir, "nullops_mutant.go")
	if err := write(added, fmt.Sprintf(helper, b.name)); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	b.built++
	path := filepath.Join(b.work, strconv.Itoa(b.built)+".json")
	return path, os.WriteFile(path, text, 0o600)
}

// mutatedFiles returns the text of each file with all its mutants, none of them chosen.
func (b *builder) mutatedFiles(mutants []mutant) map[string]string {
	edits := map[string][]edit{}
	for _, m := range mutants {
		for _, e := range m.edits {
			e.text = strings.ReplaceAll(e.text, "NUMBER", strconv.Itoa(m.number))
			edits[m.file] = append(edits[m.file], e)
		}
	}
	files := map[string]string{}
	for file, all := range edits {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			continue // it was there a moment ago; the compiler will name it
		}
		files[file] = applyEdits(string(text), all)
	}
	return files
}

var (
	errorPattern  = regexp.MustCompile(`(?m)^(?:\S*/)?([\w.-]+\.go):(\d+):`)
	numberPattern = regexp.MustCompile(chooser + `\w*\((\d+)`)
)

// findRefused returns the numbers of the mutants in the lines that a compiler complained about.
func findRefused(said string, files map[string]string) (numbers []int) {
	for _, match := range errorPattern.FindAllStringSubmatch(said, -1) {
		line, _ := strconv.Atoi(match[2])
		for file, text := range files {
			lines := strings.Split(text, "\n")
			if filepath.Base(file) != match[1] || line < 1 || line > len(lines) {
				continue
			}
			for _, number := range numberPattern.FindAllStringSubmatch(lines[line-1], -1) {
				n, _ := strconv.Atoi(number[1])
				if !slices.Contains(numbers, n) {
					numbers = append(numbers, n)
				}
			}
		}
	}
	return numbers
}

// run starts a test binary in its package's folder, with a limit of memory: what loops may also
// allocate.
func (b binary) run(ctx context.Context, mutant int, args ...string) ([]byte, error) {
	argv := slices.Concat([]string{"-c", `ulimit -v 8388608; exec "$@"`, "sh", b.path}, args,
		arguments[b.tests])
	cmd := exec.CommandContext(ctx, "sh", argv...)
	cmd.Dir = filepath.FromSlash(b.tests)
	cmd.Env = append(os.Environ(), variable+"="+strconv.Itoa(mutant))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	endWithChildren(cmd)
	err := cmd.Run()
	return out.Bytes(), err
}
