"""The tables."""

# Lists on the class are how Django writes it.
# ruff: noqa: RUF012

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Alert",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("low", "low"), ("recovered", "recovered")], max_length=20
                    ),
                ),
                ("available", models.DecimalField(decimal_places=6, max_digits=20)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("status", models.CharField(max_length=20)),
                ("price", models.DecimalField(decimal_places=6, max_digits=20)),
                ("currency", models.CharField(max_length=3)),
                ("problem", models.TextField(blank=True)),
            ],
        ),
    ]
