"""What a student has made: work/NN_name, a folder a lab, which is not part of the repository.

    FILE            what is written
    progress.json   points of the last check by task, how many hints were asked for, the last
                    difference that was found, and the variant that the lab was set with
"""

import json
import pathlib

from lab import ROOT


class NotStarted(Exception):
    pass


class Work:
    def __init__(self, lab, root=None):
        self.lab = lab
        self.folder = pathlib.Path(root or ROOT / "work").resolve() / lab.name
        self.file = self.folder / lab.file

    @property
    def kept(self):
        path = self.folder / "progress.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def keep(self, **members):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "progress.json").write_text(json.dumps({**self.kept, **members}, indent=1) + "\n")

    def must_be_there(self):
        if not self.file.exists():
            raise NotStarted(f"there is no {self.file}: begin with scripts/lab start {int(self.lab.number)}")
        return self.file

    def points(self):
        return sum(self.kept.get("points", {}).values())
