// Reads real data into the structs that quicktype generates for Go.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
)

type found struct {
	Events int   `json:"events"`
	Pins   int   `json:"pins"`
	Pages  int   `json:"pages"`
	Boards int   `json:"boards"`
	Points int64 `json:"points"`
	Code   Code  `json:"code"`
	Actors int   `json:"actors"`
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func get(path string) ([]byte, http.Header) {
	request, err := http.NewRequest("GET", os.Getenv("CORKBOARD_URL")+path, nil)
	check(err)
	request.Header.Set("apikey", os.Getenv("CORKBOARD_KEY"))
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(err)
	return body, response.Header
}

func main() {
	var found found
	actors := map[int64]bool{}
	next := regexp.MustCompile(`[?&]cursor=([^&>]+)`)
	for cursor := ""; ; {
		body, header := get("/v1/events?limit=5000&start=0" + cursor)
		var events []Event
		check(json.Unmarshal(body, &events))
		found.Pages++
		for _, event := range events {
			found.Events++
			if event.Pin != nil {
				found.Pins++
			}
			if event.Timestamp.IsZero() {
				panic("an event without a time")
			}
			actors[event.Actor.ID] = true
		}
		match := next.FindStringSubmatch(header.Get("Link"))
		if match == nil {
			break
		}
		cursor = "&cursor=" + match[1]
	}
	body, _ := get("/v1/boards")
	var boards []Board
	check(json.Unmarshal(body, &boards))
	for _, board := range boards {
		if board.Title != "" {
			found.Boards++
		}
	}
	body, _ = get("/v1/board/" + os.Getenv("CORKBOARD_BOARD") + "/points")
	points, err := UnmarshalPointsMap(body)
	check(err)
	for _, record := range points {
		found.Points += record.TotalPoints
	}
	body, _ = get("/v1/events?limit=0")
	problem, err := UnmarshalProblem(body)
	check(err)
	if problem.Code == ParameterMalformed {
		found.Code = problem.Code
	}
	found.Actors = len(actors)
	text, err := json.Marshal(found)
	check(err)
	fmt.Println(string(text))
}
