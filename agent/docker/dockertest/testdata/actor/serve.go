package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lastWords adds a line to a file when it gets its stop signal, and lets the file be.
func lastWords(file string) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	how := ""
	if s := <-told; s != syscall.SIGTERM {
		how = " by " + s.String()
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(f, "told to end"+how)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(0)
}

func serve(port, last string) {
	if last != "" {
		go lastWords(last)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello from %s", os.Getenv("WHO"))
	})
	http.HandleFunc("/status/", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/status/"))
		w.WriteHeader(code)
	})
	http.HandleFunc("/env", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, os.Getenv(r.URL.Query().Get("name")))
	})
	http.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		data, err := os.ReadFile(r.URL.Query().Get("path"))
		if err != nil {
			data = []byte(err.Error())
		}
		_, _ = w.Write(data)
	})
	http.HandleFunc("/ptr", reverse)
	http.HandleFunc("/print", func(_ http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		to, _ := strconv.Atoi(r.URL.Query().Get("to"))
		for i := from; i <= to; i++ {
			fmt.Fprintln([]io.Writer{os.Stdout, os.Stderr}[i%2], "printed", i)
		}
	})
	http.HandleFunc("/line", func(_ http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		fmt.Fprintln(os.Stdout, strings.Repeat("x", n)+r.URL.Query().Get("text"))
	})
	http.HandleFunc("/look", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"uid": os.Getuid(), "status": status(), "args": os.Args,
		})
	})
	http.HandleFunc("/spin", func(http.ResponseWriter, *http.Request) {
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
		}
	})
	http.HandleFunc("/dial", dial)
	http.HandleFunc("/echo", echo)
	fmt.Println("serving on", port)
	fmt.Fprintln(os.Stderr, "to stderr")
	server := http.Server{Addr: ":" + port, ReadHeaderTimeout: time.Minute}
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// reach says whether a TCP connection can be opened.
func reach(to string) string {
	conn, err := net.DialTimeout("tcp", to, 1500*time.Millisecond)
	if err != nil {
		return "error: " + err.Error()
	}
	defer func() { _ = conn.Close() }()
	return "connected to " + conn.RemoteAddr().String()
}

// reverse looks up a name's addresses, and then the names of the first of them,
// as a server does with its clients.
func reverse(w http.ResponseWriter, r *http.Request) {
	addresses, err := net.LookupHost(r.URL.Query().Get("of"))
	if err != nil {
		fmt.Fprint(w, "error: ", err)
		return
	}
	began := time.Now()
	names, err := net.LookupAddr(addresses[0])
	fmt.Fprint(w, time.Since(began).Milliseconds(), " ", names, " ", err)
}

func dial(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, reach(r.URL.Query().Get("to")))
}

// echo upgrades and sends back what it gets, as a WebSocket server would.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\n\r\n")
	_ = rw.Flush()
	_, _ = io.Copy(conn, bufio.NewReader(rw))
}
