package main

import (
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/nullops/nullops/deploy/examples/shop/release"
)

type server struct {
	pool  *pgxpool.Pool
	token string
	info  release.Info
	log   *slog.Logger
}

func (s server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.serveWhoami)
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /products", s.listProducts)
	mux.HandleFunc("POST /products/{id}/sell", s.sellProduct)
	mux.HandleFunc("GET /whoami", s.serveWhoami)
	mux.HandleFunc("GET /env-names", s.envNames)
	mux.HandleFunc("GET /headers", s.serveHeaders)
	mux.HandleFunc("GET /bytes/{n}", s.serveBytes)
	mux.HandleFunc("GET /ws", s.serveEcho)
	mux.HandleFunc("GET /events", s.serveEvents)
	return s.logRequests(mux)
}

// logRequests writes a line per request, without query or headers: they may hold
// what belongs in no log.
func (s server) logRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && !strings.HasPrefix(r.URL.Path, "/bytes/") {
			s.log.Info("request", "method", r.Method, "path", r.URL.Path)
		}
		next.ServeHTTP(w, r)
	})
}

// serveHealth is good when the database answers with the table in place.
func (s server) serveHealth(w http.ResponseWriter, r *http.Request) {
	var n int
	if err := s.pool.QueryRow(r.Context(), "SELECT count(*) FROM products").Scan(&n); err != nil {
		s.log.Warn("not healthy", "error", err)
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, map[string]any{"status": "ok", "products": n, "version": s.info.Version})
}

type product struct {
	ID         int    `json:"id"`
	Name       string `json:"name"`
	Blurb      string `json:"blurb"`
	PriceCents int    `json:"price_cents"`
	Stock      int    `json:"stock"`
}

func (s server) listProducts(w http.ResponseWriter, r *http.Request) {
	rows, err := s.pool.Query(r.Context(),
		"SELECT id, name, blurb, price_cents, stock FROM products ORDER BY id")
	var list []product
	if err == nil {
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[product])
	}
	if err != nil {
		s.log.Error("read products", "error", err)
		http.Error(w, "the products cannot be read", http.StatusInternalServerError)
		return
	}
	writeJSON(w, map[string]any{"products": list, "version": s.info.Version})
}

// sellProduct takes one piece from the stock. It needs the token.
func (s server) sellProduct(w http.ResponseWriter, r *http.Request) {
	if !s.isTrusted(r) {
		http.Error(w, "send the token: Authorization: Bearer …", http.StatusUnauthorized)
		return
	}
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		http.Error(w, "the product's id is a number", http.StatusBadRequest)
		return
	}
	tag, err := s.pool.Exec(r.Context(),
		"UPDATE products SET stock = stock - 1 WHERE id = $1 AND stock > 0", id)
	switch {
	case err != nil:
		s.log.Error("sell", "product", id, "error", err)
		http.Error(w, "the product cannot be sold", http.StatusInternalServerError)
	case tag.RowsAffected() == 0:
		http.Error(w, "sold out, or there is no such product", http.StatusConflict)
	default:
		s.log.Info("sold", "product", id)
		writeJSON(w, map[string]any{"sold": id})
	}
}

func (s server) isTrusted(r *http.Request) bool {
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
}

// serveWhoami says which build answers, from where, and what it saw of the caller.
func (s server) serveWhoami(w http.ResponseWriter, r *http.Request) {
	host, _ := os.Hostname() // empty is an answer too
	writeJSON(w, map[string]any{
		"service": "api", "version": s.info.Version, "revision": s.info.Revision,
		"branch": s.info.Branch, "features": s.info.Features, "container": host,
		"host": r.Host, "trusted": s.isTrusted(r), "database": s.pool.Config().ConnConfig.Database,
	})
}

// envNames lists the names, and no value, of the environment.
func (s server) envNames(w http.ResponseWriter, _ *http.Request) {
	names := []string{}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	writeJSON(w, map[string]any{"names": names})
}

// serveHeaders shows what of the request survived the way here; credentials only by
// name.
func (s server) serveHeaders(w http.ResponseWriter, r *http.Request) {
	seen := r.Header.Clone()
	for _, name := range []string{"Authorization", "Cookie"} {
		if seen.Get(name) != "" {
			seen.Set(name, "[given]")
		}
	}
	writeJSON(w, map[string]any{"host": r.Host, "headers": seen, "remote": r.RemoteAddr})
}

// serveBytes sends that many bytes, for measurements.
func (s server) serveBytes(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 || n > 1<<30 {
		http.Error(w, "a number up to 1073741824", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(n))
	block := make([]byte, min(n, 32<<10))
	for i := range block {
		block[i] = 'x'
	}
	for left := n; left > 0; left -= len(block) {
		if _, err := w.Write(block[:min(left, len(block))]); err != nil {
			return
		}
	}
}

// serveEvents counts, once every 200 ms, until the reader goes; ?count=N ends it.
func (s server) serveEvents(w http.ResponseWriter, r *http.Request) {
	count, err := strconv.Atoi(r.URL.Query().Get("count"))
	if err != nil || count < 1 {
		count = 3000 // ten minutes
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for i := 1; i <= count; i++ {
		_, err := w.Write([]byte("id: " + strconv.Itoa(i) + "\ndata: " + strconv.Itoa(i) + "\n\n"))
		if err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the reader has gone
}
