"""`pacenote info`: the properties of a track that it shows."""

import os
import threading


def test_info_shows_data_challenges_and_tasks(run, books):
    code, out, err = run("info", f"--track-path={books}")
    assert (code, err) == (0, "")
    assert out == (
        "Track books\n"
        "  Books.\n"
        "\n"
        "Documents: 10 documents\n"
        "  library: 1 file, 10 documents\n"
        "Indices: books\n"
        "Parameters (--track-params), with their defaults:\n"
        '  about="Books."\n'
        "\n"
        "Challenge fast (run by default)\n"
        "===============================\n"
        "  A quick look.\n"
        "  Note: Mind the gap.\n"
        "1. read (search, 4 clients, 10 ops/s, tags hot)\n"
        "2. in parallel, 2 clients, completed by a:\n"
        "   2.1 a (search)\n"
        "   2.2 b (force-merge)\n"
        "\n"
        "Challenge slow\n"
        "==============\n"
        "1. read (search)\n"
    )


def test_info_shows_no_secret_parameter(run, books):
    text = (books / "track.json").read_text()
    (books / "track.json").write_text(
        text.replace("default('Books.') }}", "default(my_password ~ ' of ' ~ place) }}")
    )
    code, out, err = run(
        "info", f"--track-path={books}", "--track-params=my_password:hunter-2,place:'https://u:hunter-3@h'"
    )
    assert (code, err) == (0, "")
    assert "  <hidden> of https://<hidden>@h\n" in out


def test_info_shows_parameters_and_the_documents_that_are_indexed(run):
    code, out, err = run("info", "--track=http_logs", "--track-params=docs:5000,ingest_percentage:20")
    assert (code, err) == (
        0,
        'track "http_logs" is the one that comes with Pacenote; --track-repository=default selects the '
        "public one\n",
    )
    lines = out.splitlines()
    assert "  http_logs: 7 files, 247,249,096 documents" in lines
    assert "    without these files, a race generates 5,000 documents" in lines
    first, *_ = lines[lines.index("Parameters (--track-params), with their defaults:") + 1 :]
    assert first.startswith("  bulk_indexing_clients=4, bulk_size=5000, bulk_warmup=0, corpus_file, docs=")
    assert "  Indexes 5,000 documents of http_logs, if they are generated" in lines
    assert any("index-append (bulk, 4 clients, 20 % of the documents)" in line for line in lines)


def test_info_does_not_guess_the_number_of_documents_of_a_users_own_file(run):
    _, out, _ = run("info", "--track=http_logs", "--track-params=corpus_file:./mine.json.gz")
    assert "  http_logs: 1 file, an unknown number of documents\n" in out
    assert "  Indexes an unknown number of documents of http_logs\n" in out


def test_info_of_selected_tasks(run, books):
    _, out, _ = run("info", f"--track-path={books}", "--challenge=fast", "--exclude-tasks=a,read")
    assert "Challenge slow" not in out
    assert out.endswith("1. in parallel, 1 client:\n   1.1 b (force-merge)\n")


def test_tracks_cannot_control_the_terminal(run, books):
    text = (books / "track.json").read_text().replace("Mind the gap.", "\\u001b[2Jgap\\nbelow")
    text = text.replace('"name": "b"', '"name": "b\\u001b[2J"')
    (books / "track.json").write_text(text)
    _, out, _ = run("info", f"--track-path={books}")
    assert "  Note:  [2Jgap below\n" in out
    _, out, _ = run("race", f"--track-path={books}", "--dry-run", "--include-tasks=type:force-merge")
    assert "  b [2J (force-merge): 1 client" in out
    code, _, err = run("info", f"--track-path={books}", "--challenge=\x1b[2J\nslow")
    assert code == 64
    assert err.startswith('error: track "books" has no challenge " [2J slow"')


def test_parameters_are_read_once_from_a_pipe(run, books):
    pipe = books / "params.json"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=('{"about": "A pipe."}',), daemon=True)
    writer.start()
    code, out, _ = run("info", f"--track-path={books}", f"--track-params={pipe}")
    writer.join()
    assert code == 0
    assert "  A pipe." in out
