// Command actor plays services and plugins in tests: well-behaved ones, and
// those that do everything a runtime must stand up to.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/smtp"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	args := append(os.Args[1:], "", "", "")
	if filepath.Base(os.Args[0]) == "sh" {
		// As /bin/sh it knows plain words only: sh -c "printenv NAME".
		args = append(strings.Fields(args[1]), "", "", "")
	}
	n, _ := strconv.Atoi(args[1])
	switch args[0] {
	case "printenv":
		printEnv(args[1], args[2])
	case "serve":
		serve(args[1], args[2])
	case "echo":
		sendBack(args[1])
	case "stream":
		serveStreams(args[1])
	case "record":
		record()
	case "is":
		checkUser(args[1])
	case "reach":
		answer := reach(args[1])
		fmt.Println(answer)
		if !strings.HasPrefix(answer, "connected") {
			os.Exit(1)
		}
	case "results":
		leaveResults(args[1])
		if args[2] == "stay" {
			fmt.Println("the results are there")
			time.Sleep(time.Hour)
		}
	case "behave":
		behave(args[1])
	case "exit":
		fmt.Fprintln(os.Stderr, "exiting with", n)
		os.Exit(n)
	case "":
		plugin()
	default:
		act(args[0], n)
	}
}

// printEnv prints a variable and exits with the given code; without the variable,
// with 9.
func printEnv(name, code string) {
	value, ok := os.LookupEnv(name)
	if !ok {
		os.Exit(9)
	}
	fmt.Println(value)
	n, _ := strconv.Atoi(code)
	os.Exit(n)
}

// serveStreams ends streams as gRPC services do, while the client's side is open: at once, or
// below /message after a message. It speaks HTTP/1.1, and HTTP/2 without TLS.
func serveStreams(port string) {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	handler := func(w http.ResponseWriter, r *http.Request) {
		flush := http.NewResponseController(w)
		_ = flush.EnableFullDuplex() // HTTP/2 is, and HTTP/1.1 would read the body first
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		if r.URL.Path == "/message" {
			_, _ = io.WriteString(w, "message")
			_ = flush.Flush()
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "16")
	}
	server := &http.Server{Addr: ":" + port, Handler: http.HandlerFunc(handler), Protocols: protocols}
	must(server.ListenAndServe())
}

// checkUser fails unless the process has this user, group and further groups, as in 1:2:3,4.
func checkUser(want string) {
	groups, err := os.Getgroups()
	must(err)
	slices.Sort(groups)
	var more []string
	for _, g := range slices.Compact(groups) {
		if g != os.Getgid() {
			more = append(more, strconv.Itoa(g))
		}
	}
	got := fmt.Sprintf("%d:%d:%s", os.Getuid(), os.Getgid(), strings.Join(more, ","))
	if got != want {
		fmt.Println("it is", got)
		os.Exit(1)
	}
}

// leaveResults leaves the files of a test suite, and what only looks like them.
func leaveResults(folder string) {
	const report = `<testsuite><testcase name="%s"/></testsuite>`
	must(os.MkdirAll(folder+"/sub/d.xml", 0o755))
	for _, name := range []string{"a.xml", "b.xml", "notes.txt", "sub/c.xml"} {
		must(os.WriteFile(folder+"/"+name, fmt.Appendf(nil, report, name), 0o600))
	}
	must(os.Mkdir(folder+"/d.xml", 0o755))
	must(os.Symlink("a.xml", folder+"/link.xml"))
	must(os.Symlink("/etc/passwd", folder+"/far.xml"))
	must(os.Symlink(folder, "/linked"))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// plugin reads what to do from stdin, as plugins have no arguments.
func plugin() {
	var in struct {
		Act string `json:"act"`
		N   int    `json:"n"`
		To  string `json:"to"`
	}
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	if json.Unmarshal(data, &in) != nil || in.Act == "" {
		in.Act = "echo"
	}
	if in.Act == "echo" {
		fmt.Fprintln(os.Stderr, "echoing", len(data), "bytes")
		_, _ = os.Stdout.Write(data)
		return
	}
	if in.Act == "reach" {
		fmt.Print(reach(in.To))
		return
	}
	act(in.Act, in.N)
}

func act(what string, n int) {
	switch what {
	case "exit":
		os.Exit(n)
	case "sleep":
		fmt.Fprintln(os.Stderr, "sleeping")
		time.Sleep(time.Hour)
	case "sleep-ms":
		time.Sleep(time.Duration(n) * time.Millisecond)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "ignoring SIGTERM")
		time.Sleep(time.Hour)
	case "polite":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "waiting for SIGTERM")
		<-c
		os.Exit(7)
	case "flood-stdout":
		flood(os.Stdout, n)
	case "flood-stderr":
		flood(os.Stderr, n)
		fmt.Println(`{"success":true}`)
	case "flood-both":
		go flood(os.Stderr, n)
		flood(os.Stdout, n)
	case "eat":
		eat()
	case "forks":
		forks(n)
	case "mail":
		sendMails(n)
	case "look":
		look()
	case "lines":
		for i := range n {
			fmt.Fprintln(os.Stderr, "line", i+1)
		}
	case "long-line":
		fmt.Fprintln(os.Stderr, strings.Repeat("ä", n/2))
		fmt.Fprint(os.Stderr, "bad \xff\x00 end")
	}
}

// sendMails sends mails as an application does.
func sendMails(n int) {
	for i := range n {
		err := smtp.SendMail("mail:1025", nil, "app@example.com", []string{"ann@example.com"},
			fmt.Appendf(nil, "Subject: mail %d of %d\r\n\r\nHello\r\n", i+1, n))
		if err != nil {
			fmt.Fprintln(os.Stderr, "no mail:", err)
			os.Exit(3)
		}
	}
	fmt.Fprintln(os.Stderr, "sent", n)
}

// record reports to a ledger that it runs: on the host that it is told, or else beyond the
// network's gateway.
func record() {
	var in struct {
		Action     string         `json:"action"`
		Parameters map[string]any `json:"parameters"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		panic(err)
	}
	host, told := in.Parameters["host"].(string)
	if !told || host == "" {
		host = gateway()
	}
	url := fmt.Sprintf("http://%s:%v/?line=%s+%v", host, in.Parameters["port"], in.Action,
		in.Parameters["name"])
	response, err := http.Post(url, "text/plain", nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = response.Body.Close()
	fmt.Println(`{"success":true,"outputs":{"made":"yes"}}`)
}

// gateway is where the default route goes, as /proc shows it: in hexadecimal,
// last byte first.
func gateway() string {
	data, _ := os.ReadFile("/proc/net/route")
	for line := range strings.SplitSeq(string(data), "\n") {
		if f := strings.Fields(line); len(f) > 2 && f[1] == "00000000" {
			n, _ := strconv.ParseUint(f[2], 16, 32)
			return net.IPv4(byte(n), byte(n>>8), byte(n>>16), byte(n>>24)).String()
		}
	}
	return "no gateway"
}

// behave is what package runtimetest asks of plugins.
func behave(how string) {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	if how == "hang" {
		signal.Ignore(syscall.SIGTERM)
	}
	fmt.Fprintln(os.Stderr, "this is", how)
	switch how {
	case "fail":
		os.Exit(3)
	case "hang":
		time.Sleep(time.Hour)
	case "flood":
		flood(os.Stdout, 1024)
	default:
		_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"success": true,
			"outputs": map[string]string{"stdin": string(data)}})
	}
}

// sendBack answers each connection with what it is sent. It takes a port, or an
// address to listen on.
func sendBack(at string) {
	if !strings.Contains(at, ":") {
		at = ":" + at
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		panic(err)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer func() { _ = conn.Close() }()
			_, _ = io.Copy(conn, conn)
		}()
	}
}

// flood writes n MiB in lines.
func flood(w io.Writer, n int) {
	chunk := []byte(strings.Repeat(strings.Repeat("x", 1023)+"\n", 64))
	for range n * 16 {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func eat() {
	var kept [][]byte
	for {
		b := make([]byte, 8<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		kept = append(kept, b)
		_ = kept
	}
}

// forks starts n copies and says how many the kernel allowed.
func forks(n int) {
	started := 0
	for range n {
		p, err := os.StartProcess("/actor", []string{"/actor", "sleep"}, &os.ProcAttr{})
		if err != nil {
			break
		}
		started++
		defer func() { _ = p.Kill() }()
	}
	fmt.Printf(`{"started":%d}`, started)
}

// look says what the sandbox looks like from inside.
func look() {
	report := map[string]any{
		"uid": os.Getuid(), "gid": os.Getgid(), "env": os.Environ(),
		"status": status(), "interfaces": interfaces(), "pids": pids(),
		"writable": writable("/", "/tmp", "/etc", "/dev/shm", "/data", "/proc/sys", "/run"),
		"socket":   exists("/var/run/docker.sock", "/run/docker.sock", "/run/nullops"),
		"devices":  names("/dev"),
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	report["mounts"] = strings.Split(strings.TrimSpace(string(mounts)), "\n")
	_ = json.NewEncoder(os.Stdout).Encode(report)
}

func status() map[string]string {
	data, _ := os.ReadFile("/proc/self/status")
	m := map[string]string{}
	for line := range strings.SplitSeq(string(data), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok {
			m[k] = strings.TrimSpace(v)
		}
	}
	return m
}

func interfaces() []string {
	all, _ := net.Interfaces()
	var list []string
	for _, i := range all {
		list = append(list, i.Name)
	}
	return list
}

func pids() int {
	all, _ := filepath.Glob("/proc/[0-9]*")
	return len(all)
}

func writable(dirs ...string) []string {
	var list []string
	for _, d := range dirs {
		if os.WriteFile(filepath.Join(d, "w"), nil, 0o600) == nil {
			list = append(list, d)
		}
	}
	return list
}

func exists(paths ...string) []string {
	var list []string
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			list = append(list, p)
		}
	}
	return list
}

func names(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
