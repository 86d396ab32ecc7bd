"""What jobs are called: odd names, templated names, a task in a task, subflows three levels deep.

    python names.py

Runs on every Prefect from 2.20 on.
"""

from prefect import flow, task


@task(name="with.dots")
def dots():
    pass


@task(name="""with "double" and 'single' quotes""")
def quotes():
    pass


@task(name="größe – 大小 🚀 / 50 %")
def unicode():
    pass


@task(task_run_name="load {country} on {day}")
def load(country, day):
    """Its runs are named anew each time. The job is called by the function."""


@task(name="ends-in-12")
def ends_in_a_number():
    pass


@flow(name='Ünïcode, "quoted", v1.2', flow_run_name="names of {day}")
def odd_names(day):
    dots()
    quotes()
    unicode()
    for country in ("eu", "us"):
        load(country, day)
    ends_in_a_number()
    ends_in_a_number()


@task
def leaf_task():
    pass


@flow(name="Third Level")
def third():
    leaf_task()


@flow(name="Second Level")
def second():
    third()


@flow(name="First Level")
def first():
    second()
    third()  # FLOW_NAME_TYPE=path tells the two apart


if __name__ == "__main__":
    odd_names("2026-11-30")
    first()
