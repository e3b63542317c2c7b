package main

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// controlHandler serves the tests. The table is nil where a real runtime has the containers.
func controlHandler(journal *journal, failures *failures, table *runtimeTable) http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /events", func(answer http.ResponseWriter, asked *http.Request) {
		from, err := strconv.Atoi(asked.FormValue("from"))
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		answer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(answer).Encode(journal.from(from))
	})
	routes.HandleFunc("POST /fail", func(answer http.ResponseWriter, asked *http.Request) {
		times, err := strconv.Atoi(asked.FormValue("times"))
		at := asked.FormValue("at")
		if err != nil || (at != "create" && at != "start") {
			http.Error(answer, "want container, at=create|start, times", http.StatusBadRequest)
			return
		}
		failures.next(at, asked.FormValue("container"), times)
	})
	if table == nil {
		return routes
	}
	routes.HandleFunc("POST /end", func(answer http.ResponseWriter, asked *http.Request) {
		code, err := strconv.ParseInt(asked.FormValue("code"), 10, 32)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		if !table.end(asked.FormValue("id"), int32(code)) {
			http.Error(answer, "no such container runs", http.StatusNotFound)
		}
	})
	return routes
}
