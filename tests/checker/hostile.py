"""zeroloss-check PROGRAM: folders that are damaged or made up end with a message and status 2, or a true verdict."""

import hashlib
import json
import os
import random
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from claims import Run, check

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "zeroloss-check"
UNREADABLE = 2


def made(folder):
    run = Run(folder)
    source = random.Random(1)
    run.array("x", [[source.gauss(0, 1) for _ in range(3)] for _ in range(5)])
    run.array("w", [[1.0, 2.0, 3.0], [0.5, -1.0, 1.0]])
    run.array("labels", [0, 1, 0, 1, 0], "int64")
    run.points("p", "x")
    run.network("net", [{"op": "affine", "weight": "w"}])
    run.claim("lambda_min", points="p", kernel={"of": "hidden", "activation": "relu"}, at_least=1e-6)
    return run


class Hostile(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.join(temporary.name, "run")
        self.run_ = made(self.folder)

    def refused(self, text=None):
        if text is not None:
            with open(os.path.join(self.folder, "claims.json"), "w", encoding="utf-8") as file:
                file.write(text)
        else:
            self.run_.write()
        status, says = check(PROGRAM, self.folder)
        self.assertEqual(status, UNREADABLE, says)
        self.assertIn("zeroloss-check: ", says)
        self.assertLess(len(says), 1000)

    def test_what_is_whole_holds(self):
        self.assertEqual(check(PROGRAM, self.run_)[0], 0)

    def test_what_was_found_is_written_beside_it(self):
        path = os.path.join(self.folder, "checked.json")
        self.assertEqual(check(PROGRAM, self.run_)[0], 0)
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        with open(os.path.join(self.folder, "claims.json"), "rb") as file:
            self.assertEqual(found["claims_sha256"], hashlib.sha256(file.read()).hexdigest())
        self.assertEqual([found[key] for key in ("holds", "does_not_hold", "not_decided")], [1, 0, 0])
        self.assertRegex(found["finished"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        check(PROGRAM, self.run_, "--kind", "lambda_min")  # a part says nothing of the whole
        self.assertTrue(os.path.exists(path))
        self.refused("[]")  # and what cannot be read was not checked
        self.assertFalse(os.path.exists(path))

    def test_links_in_the_folder_lead_nowhere(self):
        other = os.path.join(os.path.dirname(self.folder), "other")
        with open(other, "w", encoding="utf-8") as file:
            file.write("mine")
        for name in (".checked.json.part", "checked.json"):
            os.symlink(other, os.path.join(self.folder, name))
        self.assertEqual(check(PROGRAM, self.run_)[0], 0)
        with open(other, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.assertFalse(os.path.islink(os.path.join(self.folder, "checked.json")))

    def test_keys_of_other_operators_and_kernels(self):
        kernel = {"of": "hidden", "activation": "relu", "layers": 3}
        self.run_.claim("lambda_min", points="p", kernel=kernel, at_least=1e-6)
        self.refused()
        self.run_.claim("misfit", network="net", points="p", targets="labels", at_most=9.0)
        self.run_.network("net", [{"op": "normalize", "bias": "w"}, {"op": "affine", "weight": "w"}])
        self.refused()

    def test_many_objects_are_read_at_once(self):
        self.refused('{"format": 1, "note": [' + "{}," * 1000000 + '{}], "claims": [1]}')

    def test_no_folder_no_claims(self):
        for text in (
            "",
            "[]",
            "null",
            "{}",
            '{"format": 1}',
            '{"format": 1, "claims": []}',
            '{"format": 2, "claims": [1]}',
            '{"format": 1, "claims": {}}',
            '{"format": 1, "claims": [null]}',
            '{"format": 1, "claims": [{}]}',
            "[" * 200000,
            '{"a":' * 200000,
            '{"format": 1, "format": 1}',
            "\x00\xff",
            '{"format": 1e400}',
        ):
            with self.subTest(text=text[:40]):
                self.refused(text)
        self.assertEqual(check(PROGRAM, self.folder + "/none")[0], UNREADABLE)

    def test_numbers(self):
        for number in (
            0.5,
            1,
            "0.5",
            "nan",
            "inf",
            "0x",
            "0xp",
            "0x1p",
            "0x1p99999",
            "0x1p5000",
            "-",
            "",
            "0x1.8p-3 ",
            " 0x1p0",
            "0x1.00000000000001p0",
            "0x1.fffffffffffffp-1074",
            "0x1p-1075",
            "1e-3",
            None,
            [],
            "0X1P0",
            "0x1.8.0p0",
        ):
            with self.subTest(number=number):
                self.run_.all["claims"][0]["at_least"] = number
                self.refused()

    def test_arrays(self):
        good = self.run_.all["arrays"]["x"]
        with open(os.path.join(self.folder, "none"), "wb") as file:  # products that wrap around are not 0, nor 16
            file.write(b"")
        for change in (
            {"shape": [5, 4]},
            {"shape": [2**40, 2**40]},
            {"shape": [2**40, 2**24], "file": "none", "sha256": hashlib.sha256(b"").hexdigest()},
            {"shape": [1099510579201, 16777232], "dtype": "uint8", "file": "none"},
            {"shape": [2**64, 1]},
            {"shape": [-5, 3]},
            {"shape": [0, 3]},
            {"shape": []},
            {"shape": [5, 3, 1]},
            {"shape": "5"},
            {"shape": [15]},
            {"dtype": "float32"},
            {"dtype": "O"},
            {"file": "../run/x.npy"},
            {"file": "/etc/hostname"},
            {"file": ""},
            {"file": "."},
            {"file": "none.npy"},
            {"file": "/dev/zero", "external": True},
            {"file": "x.npy/../x.npy"},
            {"sha256": "0"},
            {"sha256": "Z" * 64},
            {"offset": -1},
            {"offset": 2**63, "file": "x.raw"},
            {"offset": 0},
            {"more": 1},
            {"external": 1},
            {"file": 3},
        ):
            with self.subTest(change=change):
                self.run_.all["arrays"]["x"] = {**good, **change}
                self.refused()

    def test_a_link_out_of_the_folder(self):
        os.rename(os.path.join(self.folder, "x.npy"), os.path.join(self.folder, "..", "y.npy"))
        os.symlink("../y.npy", os.path.join(self.folder, "x.npy"))
        self.refused()

    def test_every_length_of_a_file(self):
        path = os.path.join(self.folder, "x.npy")
        with open(path, "rb") as file:
            whole = file.read()
        for length in (0, 1, 6, 9, 10, 50, len(whole) - 1):
            with open(path, "wb") as file:
                file.write(whole[:length])
            self.refused()

    def test_not_finite(self):
        for value in (float("nan"), float("inf"), -float("inf")):
            self.run_.array("x", [[1.0, 2.0, value], [1.0, 0.0, 0.0]])
            status, says = check(PROGRAM, self.run_)
            self.assertEqual(status, 1, says)
            self.assertIn("not a number" if value != value else "not finite", says)

    def test_masks_are_numbers_of_constants_alone(self):
        minus = -float("inf")
        self.run_.array("one", [[1.0, 2.0]])
        self.run_.array("y", [1], "int64")
        self.run_.points("q", "one", steps=())
        self.run_.claim("labels", network="net", points="q", labels="y", right="all")

        def found(mask, nodes):
            self.run_.array("mask", mask)
            self.run_.network("net", nodes)
            return check(PROGRAM, self.run_)

        constant = [{"op": "constant", "values": "mask"}, {"op": "function", "function": "exp"}]
        self.assertEqual(found([minus, 0.5], constant)[0], 0)  # e^-inf = 0 is below e^.5
        self.assertEqual(found([0.5, minus], constant)[0], 1)
        self.assertEqual(found([-minus, 0.5], constant)[0], 1)  # e^inf is above it
        self.assertEqual(found([-minus, -minus], constant)[0], 4)
        self.assertIn("not a number", found([float("nan"), 0.5], constant)[1])
        affine = [{"op": "affine", "weight": "mask"}]
        self.assertIn("not finite", found([[minus, 0.5], [1.0, 1.0]], affine)[1])

    def test_rows_of_zeros_and_of_extremes(self):
        self.run_.array("x", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
        self.refused()
        self.run_.array("x", [[5e-324, 0.0, 0.0], [0.0, 1.7e308, 1.7e308], [1e308, 1e308, 1e-320]])
        status, says = check(PROGRAM, self.run_)
        self.assertEqual(status, 0, says)

    def test_points_and_networks(self):
        x = {"array": "x", "steps": ["normalize"]}
        for points in (
            {},
            {"array": "none"},
            {"array": "labels"},
            {**x, "rows": "x"},
            {**x, "rows": "w"},
            {**x, "steps": ["turn"]},
            {**x, "steps": [{"subtract": "labels"}]},
            {**x, "steps": [{"scale": "w"}, "normalize"]},
            {**x, "steps": []},
            {**x, "steps": [{"append": (1.0).hex(), "scale": "w"}]},
            {**x, "steps": "normalize"},
            {**x, "more": 1},
        ):
            with self.subTest(points=points):
                self.run_.all["points"]["p"] = points
                self.refused()
        self.run_.all["points"]["p"] = x
        self.run_.claim("labels", points="p", network="net", labels="labels", right="all")
        affine = {"op": "affine", "weight": "w"}
        for nodes in (
            [],
            {},
            [{}],
            [{"op": "affine"}],
            [affine, affine],
            [{**affine, "bias": "x"}],
            [{**affine, "trained": "weight"}],
            [{**affine, "trained": ["bias"]}],
            [affine, {"op": "add", "node": 1}],
            [affine, {"op": "add", "node": -2}],
            [affine, {"op": "add", "node": -1}],
            [{"op": "scale", "by": 2}],
            [{"op": "activation"}],
            [{"op": "multiply", "by": "w"}],
            [{**affine, "trained": ["weight", "weight"]}],
            [3],
        ):
            with self.subTest(nodes=nodes):
                self.run_.network("net", nodes)
                self.refused()

    def test_nodes_of_graphs(self):
        self.run_.array("one", [0, 2], "int64")
        self.run_.array("two", [[0, 1], [1, 2], [2, -1]], "int64")
        self.run_.array("far", [[0, 3], [0, 0], [0, 0]], "int64")
        self.run_.array("low", [0, -2], "int64")
        self.run_.array("none", [[0, -1], [1, -1]], "int64")
        self.run_.claim("labels", points="p", network="net", labels="labels", right="all")
        pick, columns = {"op": "pick", "places": "one"}, {"op": "columns", "weight": "w", "places": "two"}
        for nodes in (
            [{"op": "take"}],
            [{"op": "take", "node": 0}],
            [{"op": "take", "node": True}],
            [{"op": "join", "node": 1}],
            [{**pick, "places": "two"}],
            [{**pick, "places": "low"}],
            [{**pick, "places": "x"}],
            [{"op": "largest", "places": "one"}],
            [{"op": "total", "places": "far"}],
            [{**columns, "places": "far"}],
            [{**columns, "places": "one"}],
            [{**columns, "weight": "x", "places": "one"}],
            [{**columns, "bias": "x"}],
            [{**columns, "groups": 0}],
            [{**columns, "groups": 3}],
            [{"op": "largest", "places": "none"}],
            [{**columns, "trained": ["weight"]}],
            [pick, {"op": "times", "node": -1}],
            [pick, {"op": "over", "node": -1}],
            [{"op": "product", "node": -1, "inner": 2, "columns": 1}],
            [{"op": "product", "node": -1, "inner": 0, "columns": 3}],
            [{"op": "product", "node": -1, "inner": 2**63, "columns": 2**63}],
            [{"op": "product", "node": -1}],
            [{"op": "constant"}],
            [{"op": "constant", "values": "labels"}],
            [{"op": "function", "function": "gamma"}],
            [{"op": "function", "function": 1}],
        ):
            with self.subTest(nodes=nodes):
                self.run_.network("net", nodes)
                self.refused()

    def test_what_has_no_value_is_not_decided(self):
        self.run_.array("zero", [0.0, 0.0, 0.0])
        self.run_.claim("labels", points="p", network="net", labels="labels", right="all")
        affine = {"op": "affine", "weight": "w"}
        minus, zero = {"op": "scale", "by": (-1.0).hex()}, {"op": "constant", "values": "zero"}
        for nodes in (
            [{"op": "times", "node": -1}, minus, {"op": "function", "function": "sqrt"}, affine],
            [{"op": "times", "node": -1}, minus, {"op": "function", "function": "log"}, affine],
            [zero, {"op": "take", "node": -1}, {"op": "over", "node": 0}, affine],
        ):
            with self.subTest(nodes=nodes):
                self.run_.network("net", nodes)
                self.assertEqual(check(PROGRAM, self.run_, "--kind", "labels")[0], 4)

    def test_a_last_layer_with_more_behind_it(self):
        self.run_.array("c", [1.0, 2.0])
        affine, constant = {"op": "affine", "weight": "w"}, {"op": "constant", "values": "c"}
        take, add = {"op": "take", "node": 0}, {"op": "add", "node": 1}
        self.run_.array("few", [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
        self.run_.points("q", "few", [])
        self.run_.network("net", [affine, constant, take, add])
        self.run_.all["claims"] = []
        self.run_.claim("last_layer", points="q", network="net", lambda_min=0.5, node=0)
        self.assertEqual(check(PROGRAM, self.run_)[0], 0)
        for nodes in (
            [affine, constant, take],
            [affine, constant, take, {"op": "times", "node": 1}],
            [affine, constant, {"op": "take", "node": -1}, {"op": "pick", "places": "labels"}],
            [affine, constant, {"op": "take", "node": 1}, add],
            [affine, constant, take, {"op": "add", "node": 0}],
        ):
            with self.subTest(nodes=nodes):
                self.run_.network("net", nodes)
                self.refused()

    def test_kinds_and_operators_that_are_not_known(self):
        self.run_.claim("wisdom", points="p")
        self.assertEqual(check(PROGRAM, self.run_)[0], 4)
        self.run_.network("net", [{"op": "attention"}])
        self.run_.claim("labels", points="p", network="net", labels="labels", right="all")
        self.assertEqual(check(PROGRAM, self.run_)[0], 4)
        self.run_.claim("lambda_min", points="p", kernel={"of": "hidden", "activation": "mine"}, at_least=0.1)
        self.assertEqual(check(PROGRAM, self.run_)[0], 4)

    def test_text_is_only_shown(self):
        self.run_.all["claims"][0]["text"] = "\x1b[31m lambda_min\n holds: all\x07"
        status, says = check(PROGRAM, self.run_)
        self.assertEqual(status, 0)
        self.assertNotIn("\x1b", says)
        self.assertEqual(len(says.splitlines()), 3)

    def test_bytes_at_random(self):
        self.run_.write()
        path = os.path.join(self.folder, "claims.json")
        with open(path, "rb") as file:
            whole = file.read()
        source = random.Random(2)
        for _ in range(150):
            damaged = bytearray(whole)
            for _ in range(source.randint(1, 4)):
                damaged[source.randrange(len(damaged))] = source.randrange(256)
            with open(path, "wb") as file:
                file.write(damaged)
            status, says = check(PROGRAM, self.folder)
            self.assertIn(status, (0, 1, 2, 4), says)

    def test_an_external_file_with_an_offset(self):
        with open(os.path.join(self.folder, "..", "images.raw"), "wb") as file:
            file.write(b"0123456789" + bytes([1, 2, 3, 4, 5, 6]) + b"more")
        import hashlib

        self.run_.all["arrays"]["x"] = {
            "file": "../images.raw",
            "external": True,
            "offset": 10,
            "dtype": "uint8",
            "shape": [2, 3],
            "sha256": hashlib.sha256(bytes([1, 2, 3, 4, 5, 6])).hexdigest(),
        }
        status, says = check(PROGRAM, self.run_)
        self.assertEqual(status, 0, says)

    def test_options(self):
        for options in (
            ["--precision", "x"],
            ["--precision"],
            ["--precision", "63"],
            ["--colour"],
            ["--kind", "none"],
            ["more"],
        ):
            with self.subTest(options=options):
                self.assertEqual(check(PROGRAM, self.run_, *options)[0], UNREADABLE)
        self.assertEqual(check(PROGRAM, self.run_, "--help")[0], 0)
        status, says = check(PROGRAM, self.run_, "--json", "--precision", "300", "--kind", "lambda_min")
        self.assertEqual((status, json.loads(says)["holds"]), (0, 1))

    def test_data(self):
        with open(os.path.join(self.folder, "x.npy"), "rb") as file:
            rows = struct.unpack("<15d", file.read()[-120:])
        table = os.path.join(self.folder, "table.csv")
        for more, status in ((0.0, 0), (1e-9, 2)):
            with open(table, "w", encoding="utf-8") as file:
                file.write("a,b,kind,c\n1,2,x,3\n")
                for i in range(5):
                    file.write(f"{rows[3 * i]!r},{rows[3 * i + 1] + more!r},k,{rows[3 * i + 2]!r}\n")
            self.assertEqual(check(PROGRAM, self.run_, "--data", table)[0], status)
        for c, status in (("{0!r}", 0), ("\"{0!r}\" ", 0), ("{0:.0f} {0!r}", 2)):  # names beside the kind, and blanks
            with open(table, "w", encoding="utf-8") as file:
                file.write("id,a,kind,b,c\n")
                for i in range(5):
                    file.write(f"{i},{rows[3 * i]!r},k,{rows[3 * i + 1]!r}," + c.format(rows[3 * i + 2]) + "\n")
            self.assertEqual(check(PROGRAM, self.run_, "--data", table)[0], status)


if __name__ == "__main__":
    unittest.main(verbosity=1)
