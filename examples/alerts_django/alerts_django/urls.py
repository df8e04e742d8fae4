"""The addresses."""

from django.urls import path

from . import views

urlpatterns = [path("hooks/chat", views.receive)]
